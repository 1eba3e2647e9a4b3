// SPDX-License-Identifier: MIT
/*
 * As chain.c, in C++: virtual calls, templates, closures; exceptions that unwind through frames
 * with destructors.
 *
 *	main ─ outer ┬─ Shape::walk ─ deep<3> ─ deep<2> ─ deep<1> ─ deep<0> ─ leaf
 *	             ├─ apply ─ (closure) ─ leaf
 *	             └─ guard ─ risky ─ thrower ─ (the exception unwinds)
 */
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>

#define ALONE __attribute__((noinline))

static const int TURNS = 20000;

volatile unsigned long sink;

extern "C" ALONE void leaf(int turns)
{
	char local[64];

	for (int i = 0; i < turns; i++) {
		sink += (unsigned long)i * i;
		local[i & 63] = (char)i;
	}
	sink += (unsigned long)local[3];
}

struct Noisy {
	std::string text;

	explicit Noisy(const char *t) : text(t)
	{
	}
	ALONE ~Noisy()
	{
		sink += text.size();
	}
};

template <int N> ALONE void deep(int turns)
{
	Noisy noisy("somewhat longer than a string holds without memory of its own");

	deep<N - 1>(turns);
	sink++;
}

template <> ALONE void deep<0>(int turns)
{
	leaf(turns);
	sink++;
}

struct Base {
	virtual ~Base()
	{
	}
	virtual void walk(int turns) = 0;
};

struct Shape : Base {
	ALONE void walk(int turns) override
	{
		deep<3>(turns);
		sink++;
	}
};

ALONE void apply(const std::function<void(int)> &call, int turns)
{
	call(turns);
	sink++;
}

ALONE void thrower(int i)
{
	if (i >= 0)
		throw std::runtime_error("on purpose");
	sink++;
}

ALONE void risky(int i)
{
	Noisy noisy("to be destroyed on the way, whatever way it is");

	thrower(i);
	sink++;
}

ALONE void guard(int nr)
{
	for (int i = 0; i < nr; i++) {
		try {
			risky(i);
		} catch (const std::exception &e) {
			sink += (unsigned long)e.what()[0];
		}
	}
}

ALONE void outer(Base &base)
{
	base.walk(TURNS);
	apply(
		[](int turns) {
			leaf(turns);
			sink++;
		},
		TURNS);
	guard(3);
	sink++;
}

int main()
{
	Shape shape;

	std::puts("ready");
	std::fflush(stdout);
	for (;;)
		outer(shape);
}

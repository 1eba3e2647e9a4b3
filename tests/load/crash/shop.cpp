// SPDX-License-Identifier: MIT
/*
 * A C++ program that crashes below virtual functions, a template, and a callback of std::sort().
 * Argument 1 "throw": by an uncaught exception.
 */
#include <algorithm>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

struct Customer {
	int discount;
};

static volatile int sink;
static bool throws;

class Order
{
      public:
	virtual ~Order() = default;
	virtual int price(const Customer *c) const = 0;
};

class Shipment : public Order
{
      public:
	__attribute__((noinline)) int price(const Customer *c) const override
	{
		if (throws)
			throw std::runtime_error("no customer");
		sink = sink + 1;
		return 100 - c->discount;
	}
};

template <typename T> __attribute__((noinline)) int total(const std::vector<T> &orders)
{
	std::vector<T> sorted(orders);

	std::sort(sorted.begin(), sorted.end(), [](const T &a, const T &b) {
		int x = a->price(nullptr), y = b->price(nullptr);

		sink = sink + x;
		return x < y;
	});
	sink = sink + 1;
	return (int)sorted.size();
}

static __attribute__((noinline)) int checkout(const std::function<int()> &f)
{
	int n = f();

	sink = sink + n;
	return n;
}

int main(int argc, char **argv)
{
	Shipment a, b;
	std::vector<const Order *> orders = {&a, &b};

	throws = argc > 1 && !strcmp(argv[1], "throw");
	return checkout([&] { return total(orders); });
}

// SPDX-License-Identifier: MIT

// As chain.c, in Go: frame pointers, goroutine stacks that move when they grow, and the runtime's
// system stack.
//
//	main ─ outer ┬─ middle ─ inner ─ leaf
//	             ├─ sorted ─ (sort.Slice) ─ compare ─ leaf
//	             ├─ grow ─ grow ─ ... ─ leaf
//	             ├─ allocate ─ (the runtime, on its stack)
//	             └─ wait ─ (a channel), work ─ inner ─ leaf in the goroutine that answers
package main

import (
	"fmt"
	"sort"
)

const turns = 20000

var sink int
var kept [][]byte

//go:noinline
func leaf(n int) {
	var local [64]byte

	for i := 0; i < n; i++ {
		sink += i * i
		local[i&63] = byte(i)
	}
	sink += int(local[3])
}

//go:noinline
func inner(n int) {
	leaf(n)
	sink++
}

//go:noinline
func middle(n int) {
	inner(n)
	sink++
}

//go:noinline
func compare(v []int, i, j int) bool {
	leaf(turns / 400)
	return v[i] < v[j]
}

//go:noinline
func sorted() {
	v := make([]int, 64)
	for i := range v {
		v[i] = (i * 7919) % 64
	}
	sort.Slice(v, func(i, j int) bool { return compare(v, i, j) })
	sink += v[2]
}

//go:noinline
func grow(depth int) int {
	var local [64]int

	local[depth&63] = depth
	if depth == 0 {
		leaf(turns)
		return local[0]
	}
	return grow(depth-1) + local[depth&63]
}

//go:noinline
func allocate() {
	for i := 0; i < 50; i++ {
		kept = append(kept[:len(kept)&63], make([]byte, 20000))
	}
}

//go:noinline
func work(questions, answers chan int) {
	for n := range questions {
		inner(n)
		answers <- n
	}
}

//go:noinline
func wait(questions, answers chan int) {
	questions <- turns
	sink += <-answers
}

//go:noinline
func outer(questions, answers chan int) {
	middle(turns)
	sorted()
	done := make(chan int)
	go func() { done <- grow(5) }()
	sink += grow(5) + <-done
	allocate()
	wait(questions, answers)
}

func main() {
	questions, answers := make(chan int), make(chan int)

	go work(questions, answers)
	fmt.Println("ready")
	for {
		outer(questions, answers)
	}
}

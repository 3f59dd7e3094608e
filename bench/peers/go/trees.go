// trees.go - goroutines that start goroutines: skynet, and the Fibonacci function with a fork at every other call.
package main

import "sync"

const children = 10

// share is the leaves [first, first + count).
type share struct{ first, count int }

func (s share) part(i int) share {
	from, to := s.count*i/children, s.count*(i+1)/children
	return share{s.first + from, to - from}
}

func byChannels(mine share, up chan<- int) {
	if mine.count == 1 {
		up <- mine.first
		return
	}
	sums := make(chan int, children)
	started, sum := 0, 0
	for i := range children {
		if part := mine.part(i); part.count > 0 {
			go byChannels(part, sums)
			started++
		}
	}
	for range started {
		sum += <-sums
	}
	up <- sum
}

func byJoins(mine share) int {
	if mine.count == 1 {
		return mine.first
	}
	var sums [children]int
	var all sync.WaitGroup
	for i := range children {
		if part := mine.part(i); part.count > 0 {
			all.Add(1)
			go func() {
				sums[i] = byJoins(part)
				all.Done()
			}()
		}
	}
	all.Wait()
	sum := 0
	for _, s := range sums {
		sum += s
	}
	return sum
}

func skynet(r request) {
	checked := func(tree func() int) func() float64 {
		return func() float64 {
			sum := 0
			time := nanoseconds(func() { sum = tree() })
			if sum != r.n*(r.n-1)/2 {
				fail("skynet added up wrongly")
			}
			return time / 1e6
		}
	}
	r.measureOne("channels", r.n, "ms", checked(func() int {
		top := make(chan int, 1)
		go byChannels(share{0, r.n}, top)
		return <-top
	}))
	r.measureOne("joins", r.n, "ms", checked(func() int { return byJoins(share{0, r.n}) }))
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	left := 0
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		left = fib(n - 1)
		done.Done()
	}()
	right := fib(n - 2)
	done.Wait()
	return left + right
}

func byCalls(n int) int {
	if n < 2 {
		return n
	}
	return byCalls(n-1) + byCalls(n-2)
}

func forkjoin(r request) {
	forks := float64(max(byCalls(r.n+1)-1, 1))
	r.measureOne("spawn-and-join", r.n, "ns", func() float64 {
		value := 0
		time := nanoseconds(func() { value = fib(r.n) })
		if value != byCalls(r.n) {
			fail("fib is wrong")
		}
		return time / forks
	})
}

// switches.go - control that changes hands: yields, the ring, people who are fed in turn.
package main

import (
	"fmt"
	"iter"
	"runtime"
	"sync"
)

func yield(times int) {
	for range times {
		runtime.Gosched()
	}
}

func switches(r request) {
	half := max(r.n/2, 1)
	r.measureOne("yield", r.n, "ns", func() float64 {
		return nanoseconds(func() {
			var other sync.WaitGroup
			other.Add(1)
			go func() {
				yield(half)
				other.Done()
			}()
			yield(half)
			other.Wait()
		}) / float64(r.n)
	})
	// iter.Pull is Go's coroutine: next() runs the body to its next yield.
	r.measureOne("call-and-yield", r.n, "ns", func() float64 {
		next, stop := iter.Pull(func(yield func(struct{}) bool) {
			for yield(struct{}{}) {
			}
		})
		defer stop()
		return nanoseconds(func() {
			for range r.n {
				next()
			}
		}) / float64(r.n)
	})
}

const members = 503

func takePart(mine <-chan int, next chan<- int) {
	for number := range mine {
		if number == 0 {
			break
		}
		next <- number - 1
	}
	close(next)
}

func ring(r request) {
	r.measureOne("channels", r.n, "ns", func() float64 {
		return nanoseconds(func() {
			var all sync.WaitGroup
			seats := make([]chan int, members)
			for i := range seats {
				seats[i] = make(chan int)
			}
			for i := range seats {
				all.Add(1)
				go func() {
					takePart(seats[i], seats[(i+1)%members])
					all.Done()
				}()
			}
			seats[0] <- r.n
			all.Wait()
		}) / float64(r.n)
	})
}

type person struct {
	eaten, needs struct{ fiber, calcium, iron int }
}

func (p *person) feed() {
	for p.eaten != p.needs {
		p.eaten.fiber++
		p.eaten.calcium++
		p.eaten.iron++
		runtime.Gosched()
	}
}

func feed(r request) {
	for _, nutrients := range []int{10, 100, 1000, 10000} {
		suffix := fmt.Sprintf("nutrients-%d", nutrients)
		r.measure([]label{{"yield/" + suffix, r.n, "us"}, {"yield/round-trip/" + suffix, r.n, "ns"}}, func() []float64 {
			people := make([]*person, r.n)
			for i := range people {
				people[i] = new(person)
				people[i].needs = struct{ fiber, calcium, iron int }{nutrients, nutrients, nutrients}
			}
			time := nanoseconds(func() {
				var all sync.WaitGroup
				all.Add(r.n)
				for _, p := range people {
					go func() {
						p.feed()
						all.Done()
					}()
				}
				all.Wait()
			})
			return []float64{time / 1e3, time / float64(r.n) / float64(nutrients)}
		})
	}
}

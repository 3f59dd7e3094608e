// preempt.go - a goroutine that ticks every millisecond beside others that compute, each for as long as the ticks take.
package main

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A hog's round takes 10 to 100 us.
var hogs = []struct {
	name  string
	round func()
}{
	{"recursion", func() { naiveFib(20) }},
	{"loop", func() {
		x := uint64(1)
		for range 100_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
		computed.Store(x)
	}},
}

var computed atomic.Uint64 // so that the loop has a purpose

func naiveFib(n int) uint64 {
	if n < 2 {
		return 1
	}
	return naiveFib(n-1) + naiveFib(n-2)
}

// beside runs work beside k hogs, which stop when it ends or after their time.
func beside(k int, round func(), most time.Duration, work func()) {
	var over atomic.Bool
	var ended sync.WaitGroup
	ended.Add(k)
	for range k {
		go func() {
			defer ended.Done()
			for end := time.Now().Add(most); !over.Load() && time.Now().Before(end); {
				round()
			}
		}()
	}
	work()
	over.Store(true)
	ended.Wait()
}

// lateness holds the median, the 90th and 99th percentile and the largest of n ticks, in microseconds.
func lateness(n int) []float64 {
	late := make([]float64, 0, n)
	for due := time.Now(); len(late) < n; {
		due = due.Add(time.Millisecond)
		time.Sleep(time.Until(due))
		late = append(late, float64(time.Since(due).Nanoseconds())/1e3)
	}
	slices.Sort(late)
	return []float64{late[n/2], late[n*9/10], late[n*99/100], late[n-1]}
}

func preempt(r request) {
	span := time.Duration(r.n) * time.Millisecond
	r.measureOne("sleepers-beside-fib", r.n, "ms", func() float64 {
		var took float64
		beside(r.workers, hogs[0].round, 3*span, func() {
			took = nanoseconds(func() {
				var sleepers sync.WaitGroup
				sleepers.Add(2)
				for range 2 {
					go func() {
						defer sleepers.Done()
						time.Sleep(span)
					}()
				}
				sleepers.Wait()
			}) / 1e6
		})
		return took
	})
	for _, hog := range hogs {
		for _, k := range []int{1, 4, 16} {
			var labels []label
			for _, figure := range []string{"p50", "p90", "p99", "max"} {
				labels = append(labels, label{fmt.Sprintf("%s-%d/%s", hog.name, k, figure), r.n, "us"})
			}
			r.measure(labels, func() (late []float64) {
				beside(k, hog.round, span, func() { late = lateness(r.n) })
				return late
			})
		}
	}
}

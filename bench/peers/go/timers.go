// timers.go - a million timers pending while others come and go, and sleeps that end at the rate of 100,000 in a second.
package main

import (
	"math/rand"
	"syscall"
	"time"
)

// far is an hour or two: it never passes meanwhile, and falls anywhere among those that are pending.
func far(random *rand.Rand) time.Duration {
	return time.Hour + time.Duration(random.Int63n(int64(time.Hour)))
}

func timers(r request) {
	random := rand.New(rand.NewSource(1))
	pending := make([]*time.Timer, r.n)
	for i := range pending {
		pending[i] = time.AfterFunc(far(random), func() {})
	}
	r.measureOne("insert-and-cancel", r.n, "ns", func() float64 {
		return nanoseconds(func() {
			for range r.n {
				time.AfterFunc(far(random), func() {}).Stop()
			}
		}) / float64(r.n)
	})
	for _, t := range pending {
		t.Stop()
	}
	fired := max(r.n/10, 1)
	r.measureOne("fire", fired, "%", func() float64 { return firing(fired) })
}

func cpuTime() time.Duration {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// firing is the percentage of one CPU that is used while n sleeps of as many goroutines end.
func firing(n int) float64 {
	length := time.Duration(n) * 10 * time.Microsecond
	begin := time.Now().Add(20*time.Millisecond + time.Duration(n)*3*time.Microsecond) // all are asleep by then
	for i := range n {
		go func() { time.Sleep(time.Until(begin.Add(length * time.Duration(i) / time.Duration(n)))) }()
	}
	time.Sleep(time.Until(begin))
	used, since := cpuTime(), time.Now()
	time.Sleep(time.Until(begin.Add(length)))
	percent := 100 * float64(cpuTime()-used) / float64(time.Since(since))
	untilAlone()
	return percent
}

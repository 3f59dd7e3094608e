// crowds.go - very many goroutines: empty ones, and ones that all wait for the same event.
package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

const betweenYields = 256

// untilAlone returns when all goroutines but the caller have ended. Go counts them anyway.
func untilAlone() {
	for runtime.NumGoroutine() > 1 {
		runtime.Gosched()
	}
}

func empty() {}

func asSpawned(n int) {
	for i := range n {
		go empty()
		if i%betweenYields == betweenYields-1 {
			runtime.Gosched()
		}
	}
	untilAlone()
}

func batch(n int) {
	for range n {
		go empty()
	}
	untilAlone()
}

func spawn(r request) {
	r.measureOne("run-as-spawned", r.n, "ns", func() float64 { return nanoseconds(func() { asSpawned(r.n) }) / float64(r.n) })
	r.measureOne("batch", r.n, "ns", func() float64 { return nanoseconds(func() { batch(r.n) }) / float64(r.n) })
}

// memory is a line of /proc/self/status, in bytes.
func memory(name string) float64 {
	text, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(text), "\n") {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kib) * 1024
		}
	}
	fail("no " + name + " in /proc/self/status")
	return 0
}

func peakMemory(r request, part string, once func(int)) {
	r.measureOne(part+"/peak-memory", r.n, "KiB", func() float64 {
		once(r.n)
		return memory("VmHWM") / 1024
	})
}

func peakMemoryAsSpawned(r request) { peakMemory(r, "run-as-spawned", asSpawned) }
func peakMemoryOfBatch(r request)   { peakMemory(r, "batch", batch) }

func parked(r request) {
	each := float64(r.n)
	labels := []label{{"memory", r.n, "B"}, {"memory-and-page-tables", r.n, "B"}, {"park", r.n, "ns"}, {"wake", r.n, "ns"},
		{"park-and-wake", r.n, "ns"}}
	r.measure(labels, func() []float64 {
		resident, tables := memory("VmRSS"), memory("VmPTE")
		event := make(chan struct{})
		var arrived, left sync.WaitGroup
		arrived.Add(r.n)
		left.Add(r.n)
		begin := time.Now()
		for range r.n {
			go func() {
				arrived.Done()
				<-event
				left.Done()
			}()
		}
		arrived.Wait()
		park := float64(time.Since(begin).Nanoseconds())
		held, mapped := memory("VmRSS")-resident, memory("VmPTE")-tables
		wake := nanoseconds(func() {
			close(event)
			left.Wait()
		})
		return []float64{held / each, (held + mapped) / each, park / each, wake / each, (park + wake) / each}
	})
}

// main.go - arguments, repetitions, and the lines that `run` reads: peer BENCH WORKERS RUNS N.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
)

type request struct {
	workers, runs, n int
}

type label struct {
	variant string
	n       int
	unit    string
}

var benchmarks = map[string]func(request){
	"switch":                     switches,
	"spawn":                      spawn,
	"peak-memory/run-as-spawned": peakMemoryAsSpawned,
	"peak-memory/batch":          peakMemoryOfBatch,
	"parked":                     parked,
	"ring":                       ring,
	"skynet":                     skynet,
	"forkjoin":                   forkjoin,
	"fibonacci":                  fibonacci,
	"feed":                       feed,
	"mutex":                      mutexes,
	"channel":                    channels,
	"timers":                     timers,
	"preempt":                    preempt,
	"users":                      users,
	clientsBenchmark:             usersClients,
}

// measure calls once to warm up and then for each run; without runs, a single time. It returns a figure for each label.
func (r request) measure(labels []label, once func() []float64) {
	if r.runs > 0 {
		once()
	}
	lines := make([]string, len(labels))
	for range max(r.runs, 1) {
		for i, figure := range once() {
			lines[i] += fmt.Sprintf(" %g", figure)
		}
	}
	for i, l := range labels {
		fmt.Printf("%s %d %s%s\n", l.variant, l.n, l.unit, lines[i])
	}
}

func (r request) measureOne(variant string, n int, unit string, once func() float64) {
	r.measure([]label{{variant, n, unit}}, func() []float64 { return []float64{once()} })
}

func nanoseconds(f func()) float64 {
	begin := time.Now()
	f()
	return float64(time.Since(begin).Nanoseconds())
}

func main() {
	if len(os.Args) != 5 {
		fail("usage: peer BENCH WORKERS RUNS N")
	}
	var r request
	for i, field := range []*int{&r.workers, &r.runs, &r.n} {
		value, err := strconv.Atoi(os.Args[i+2])
		if err != nil {
			fail(err.Error())
		}
		*field = value
	}
	run, known := benchmarks[os.Args[1]]
	if !known {
		fail("no benchmark " + os.Args[1])
	}
	runtime.GOMAXPROCS(r.workers)
	run(r)
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, "go peer:", message)
	os.Exit(1)
}

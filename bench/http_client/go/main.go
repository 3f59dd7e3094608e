// Go's net/http as a client: main PORT REQUESTS GOROUTINES prints what client.cpp prints.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
)

const answer = "hello, world"

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func cpuNow() (program, system float64) {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	inUs := func(t syscall.Timeval) float64 { return float64(t.Sec)*1e6 + float64(t.Usec) }
	return inUs(used.Utime), inUs(used.Stime)
}

func main() {
	url := "http://127.0.0.1:" + os.Args[1] + "/"
	requests, routines := number(os.Args[2]), number(os.Args[3])
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: routines, MaxConnsPerHost: routines, DisableCompression: true}}
	ask := func() {
		r, err := client.Get(url)
		if err != nil {
			panic(err)
		}
		defer r.Body.Close()
		if body, err := io.ReadAll(r.Body); err != nil || string(body) != answer {
			panic("another answer")
		}
	}
	eachAsks := func(times int) {
		var all sync.WaitGroup
		for i := 0; i < routines; i++ {
			all.Add(1)
			go func() {
				defer all.Done()
				for j := 0; j < times; j++ {
					ask()
				}
			}()
		}
		all.Wait()
	}
	eachAsks(100)
	p, s := cpuNow()
	eachAsks(requests / routines)
	p2, s2 := cpuNow()
	n := float64(requests / routines * routines)
	fmt.Printf("%.3f %.3f %.3f\n", (p2-p+s2-s)/n, (p2-p)/n, (s2-s)/n)
}

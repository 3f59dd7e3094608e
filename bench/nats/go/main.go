// main.go - what bench.cpp measures, by nats.go: main URL messages|requests COUNT
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
)

func cpu() float64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return float64(used.Utime.Nano() + used.Stime.Nano())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func messages(c *nats.Conn, count int) {
	room := make(chan struct{}, 16)
	in := make(chan *nats.Msg, 8192)
	s, err := c.ChanSubscribe("bench", in)
	check(err)
	go func() {
		for i := 0; i < count; i++ {
			if i%64 == 0 {
				room <- struct{}{}
			}
			check(c.Publish("bench", []byte("0123456789abcdef")))
		}
	}()
	for i := 0; i < count; i++ {
		<-in
		if i%64 == 63 {
			<-room
		}
	}
	check(s.Unsubscribe())
}

func requests(c *nats.Conn, count int) {
	s, err := c.Subscribe("bench", func(m *nats.Msg) { check(m.Respond(m.Data)) })
	check(err)
	var all sync.WaitGroup
	for f := 0; f < 100; f++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < count/100; i++ {
				_, err := c.Request("bench", []byte("0123456789abcdef"), 10*time.Second)
				check(err)
			}
		}()
	}
	all.Wait()
	check(s.Unsubscribe())
}

func main() {
	c, err := nats.Connect(os.Args[1])
	check(err)
	count, err := strconv.Atoi(os.Args[3])
	check(err)
	run := messages
	if os.Args[2] == "requests" {
		run = requests
	}
	run(c, count/10)
	before := cpu()
	run(c, count)
	fmt.Printf("%.1f\n", (cpu()-before)/float64(count))
}

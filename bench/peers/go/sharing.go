// sharing.go - goroutines that share something: a channel, a mutex, the processors.
package main

import (
	"math/big"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

const many = 8

func channels(r request) {
	shapes := []struct {
		name               string
		senders, receivers int
	}{{"one-to-one", 1, 1}, {"many-to-one", many, 1}, {"one-to-many", 1, many}, {"many-to-many", many, many}}
	storages := []struct {
		name     string
		capacity int
	}{{"rendezvous", 0}, {"buffered-64", 64}}
	for _, shape := range shapes {
		for _, storage := range storages {
			r.measureOne(shape.name+"/"+storage.name, r.n, "ns", func() float64 {
				return pass(r.n, shape.senders, shape.receivers, storage.capacity)
			})
		}
	}
	r.measureOne("select-of-4-ready", r.n, "ns", func() float64 { return selectReady(r.n) })
}

// selectReady is as weft's select-of-4-ready: the channels are filled, and then a quarter of what is there is taken.
func selectReady(n int) float64 {
	const batch = 1024
	var ready [4]chan int
	for i := range ready {
		ready[i] = make(chan int, batch)
	}
	taken, wanted, time := 0, 0, 0.0
	for ; wanted < n; wanted += batch {
		for _, c := range ready {
			for len(c) < batch {
				c <- 1
			}
		}
		time += nanoseconds(func() {
			for range batch {
				select {
				case v := <-ready[0]:
					taken += v
				case v := <-ready[1]:
					taken += v
				case v := <-ready[2]:
					taken += v
				case v := <-ready[3]:
					taken += v
				}
			}
		})
	}
	if taken != wanted {
		fail("a value was not there")
	}
	return time / float64(taken)
}

func pass(n, senders, receivers, capacity int) float64 {
	each := n/senders + 1
	var received atomic.Int64
	time := nanoseconds(func() {
		values := make(chan int, capacity)
		var sending, receiving sync.WaitGroup
		for range receivers {
			receiving.Add(1)
			go func() {
				count := int64(0)
				for range values {
					count++
				}
				received.Add(count)
				receiving.Done()
			}()
		}
		for range senders {
			sending.Add(1)
			go func() {
				for k := range each {
					values <- k
				}
				sending.Done()
			}()
		}
		sending.Wait()
		close(values)
		receiving.Wait()
	})
	if received.Load() != int64(each*senders) {
		fail("a value was lost, or came twice")
	}
	return time / float64(received.Load())
}

func mutexes(r request) {
	r.measureOne("alone", r.n, "ns", func() float64 { return count(r.n, 1, false) })
	few := min(r.n, 200000)
	for _, goroutines := range []int{2, 8} {
		among := "among-" + strconv.Itoa(goroutines)
		r.measureOne(among, r.n, "ns", func() float64 { return count(r.n, goroutines, false) })
		r.measureOne(among+"/owner-yields", few, "ns", func() float64 { return count(few, goroutines, true) })
	}
}

func count(n, goroutines int, ownerYields bool) float64 {
	var lock sync.Mutex
	value, share := 0, n/goroutines+1
	time := nanoseconds(func() {
		var all sync.WaitGroup
		for range goroutines {
			all.Add(1)
			go func() {
				for range share {
					lock.Lock()
					value++
					if ownerYields {
						runtime.Gosched()
					}
					lock.Unlock()
				}
				all.Done()
			}()
		}
		all.Wait()
	})
	if value != share*goroutines {
		fail("the mutex let two in")
	}
	return time / float64(value)
}

const pieces = 64

func fibonacci(r request) {
	r.measureOne("total/math-big", r.n, "ms", func() float64 {
		return nanoseconds(func() {
			var all sync.WaitGroup
			for range pieces {
				all.Add(1)
				go func() {
					a, b := big.NewInt(0), big.NewInt(1)
					for range r.n {
						a.Add(a, b)
						a, b = b, a
					}
					all.Done()
				}()
			}
			all.Wait()
		}) / 1e6
	})
}

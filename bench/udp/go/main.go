// Datagrams over loopback, as bench/udp_bench.cpp sends them: main BYTES ROUNDS. Prints datagrams in a second of CPU time, by calls of net for
// each, and by the batches of golang.org/x/net.
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/net/ipv4"
)

const batch = 64

func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

func open() *net.UDPConn {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		panic(err)
	}
	return c
}

func measure(name string, rounds int, round func()) {
	for i := 0; i < rounds/10; i++ {
		round()
	}
	before := cpuSeconds()
	for i := 0; i < rounds; i++ {
		round()
	}
	fmt.Printf("%s %.0f\n", name, float64(rounds*batch)/(cpuSeconds()-before))
}

func main() {
	bytes, _ := strconv.Atoi(os.Args[1])
	rounds, _ := strconv.Atoi(os.Args[2])
	in, out := open(), open()
	to := in.LocalAddr().(*net.UDPAddr)
	data, room := make([]byte, bytes), make([]byte, 2048)
	address := to.AddrPort()
	measure("net", rounds, func() {
		for i := 0; i < batch; i++ {
			if _, err := out.WriteToUDPAddrPort(data, address); err != nil {
				panic(err)
			}
		}
		for i := 0; i < batch; i++ {
			if _, _, err := in.ReadFromUDPAddrPort(room); err != nil {
				panic(err)
			}
		}
	})

	sending, receiving := make([]ipv4.Message, batch), make([]ipv4.Message, batch)
	for i := range sending {
		sending[i] = ipv4.Message{Buffers: [][]byte{data}, Addr: to}
		receiving[i].Buffers = [][]byte{make([]byte, 2048)}
	}
	writer, reader := ipv4.NewPacketConn(out), ipv4.NewPacketConn(in)
	measure("x/net batches", rounds, func() {
		for sent := 0; sent < batch; {
			n, err := writer.WriteBatch(sending[sent:], 0)
			if err != nil {
				panic(err)
			}
			sent += n
		}
		for got := 0; got < batch; {
			n, err := reader.ReadBatch(receiving, 0)
			if err != nil {
				panic(err)
			}
			got += n
		}
	})
}

// users.go - GET /users/1 over 100 kept connections, beside 16 goroutines that compute. The clients are another process of this program.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	usersConnections = 100
	hogsBesideUsers  = 16
	clientsBenchmark = "users/clients" // of the process that asks
)

type user struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// userTable is the store: what SQLite is to weft's service.
type userTable struct {
	mutex sync.RWMutex
	all   map[string]user
}

func (t *userTable) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	t.mutex.RLock()
	found, known := t.all[strings.TrimPrefix(in.URL.Path, "/users/")]
	t.mutex.RUnlock()
	if !known {
		http.NotFound(out, in)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	json.NewEncoder(out).Encode(found)
}

// askOnce sends one request and reads all of its answer.
func askOnce(connection net.Conn, answers *bufio.Reader) {
	if _, err := io.WriteString(connection, "GET /users/1 HTTP/1.1\r\nHost: bench\r\n\r\n"); err != nil {
		fail(err.Error())
	}
	answer, err := http.ReadResponse(answers, nil)
	if err != nil {
		fail(err.Error())
	}
	if answer.StatusCode != http.StatusOK {
		fail("answered by " + answer.Status)
	}
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
}

// usersClients asks the server whose address is on stdin n times, and prints requests per second, p50 and p99 in microseconds.
func usersClients(r request) {
	var at string
	fmt.Scan(&at)
	each := r.n/usersConnections + 1
	took := make([][]float64, usersConnections)
	connections := make([]net.Conn, usersConnections)
	for i := range connections {
		var err error
		if connections[i], err = net.Dial("tcp", at); err != nil {
			fail(err.Error())
		}
	}
	spent := nanoseconds(func() {
		var done sync.WaitGroup
		done.Add(usersConnections)
		for i, connection := range connections {
			go func() {
				defer done.Done()
				answers := bufio.NewReader(connection)
				for range each {
					took[i] = append(took[i], nanoseconds(func() { askOnce(connection, answers) })/1e3)
				}
			}()
		}
		done.Wait()
	})
	all := slices.Concat(took...)
	slices.Sort(all)
	fmt.Println(float64(len(all))/spent*1e9, all[len(all)/2], all[len(all)*99/100])
}

func askFromOutside(r request, at string) []float64 {
	clients := exec.Command(os.Args[0], clientsBenchmark, strconv.Itoa(r.workers), "0", strconv.Itoa(r.n))
	clients.Stdin = strings.NewReader(at)
	clients.Stderr = os.Stderr
	printed, err := clients.Output()
	if err != nil {
		fail("clients: " + err.Error())
	}
	figures := make([]float64, 3)
	if _, err := fmt.Sscan(string(printed), &figures[0], &figures[1], &figures[2]); err != nil {
		fail("clients printed " + string(printed))
	}
	return figures
}

func users(r request) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err.Error())
	}
	server := &http.Server{Handler: &userTable{all: map[string]user{"1": {"1", "Ann"}}}}
	go server.Serve(listener)
	defer server.Close()
	ask := func(variant string) {
		labels := []label{{variant + "requests", r.n, "1/s"}, {variant + "p50", r.n, "us"}, {variant + "p99", r.n, "us"}}
		r.measure(labels, func() []float64 { return askFromOutside(r, listener.Addr().String()) })
	}
	ask("")
	const untilTheyAreStopped = time.Hour
	beside(hogsBesideUsers, hogs[0].round, untilTheyAreStopped, func() { ask(fmt.Sprintf("hogs-%d/", hogsBesideUsers)) })
}

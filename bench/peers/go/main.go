// SPDX-License-Identifier: MIT
// Go's twins of our scheduler workloads: prints one number, in the unit of the row.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

func since(t time.Time) float64 { return float64(time.Since(t).Nanoseconds()) }

func sleepers(count int) float64 {
	begin := time.Now()
	var all sync.WaitGroup
	all.Add(count)
	for i := 0; i < count; i++ {
		go func() {
			time.Sleep(time.Second)
			all.Done()
		}()
	}
	all.Wait()
	return since(begin) / 1e6
}

func yields() float64 {
	runtime.GOMAXPROCS(1)
	const each = 1000000
	begin := time.Now()
	var all sync.WaitGroup
	all.Add(2)
	for k := 0; k < 2; k++ {
		go func() {
			for i := 0; i < each; i++ {
				runtime.Gosched()
			}
			all.Done()
		}()
	}
	all.Wait()
	return since(begin) / (2 * each)
}

func spawnJoin(workers int) float64 {
	runtime.GOMAXPROCS(workers)
	const count = 1000000
	result := make(chan int, 1)
	begin := time.Now()
	for i := 0; i < count; i++ {
		i := i
		go func() { result <- i }()
		<-result
	}
	return since(begin) / count
}

func skynet(out chan<- int, first, size int) {
	if size == 1 {
		out <- first
		return
	}
	in := make(chan int, 10)
	for i := 0; i < 10; i++ {
		go skynet(in, first+i*(size/10), size/10)
	}
	sum := 0
	for i := 0; i < 10; i++ {
		sum += <-in
	}
	out <- sum
}

func skynetMs(workers int) float64 {
	runtime.GOMAXPROCS(workers)
	out := make(chan int, 1)
	begin := time.Now()
	go skynet(out, 0, 1000000)
	<-out
	return since(begin) / 1e6
}

func ring(workers int) float64 {
	runtime.GOMAXPROCS(workers)
	const tasks, rounds = 1000, 1000
	links := make([]chan int, tasks)
	for i := range links {
		links[i] = make(chan int)
	}
	for i := 1; i < tasks; i++ {
		go func(in, out chan int) {
			for {
				out <- <-in + 1
			}
		}(links[i-1], links[i])
	}
	token := 0
	begin := time.Now()
	for k := 0; k < rounds; k++ {
		links[0] <- token + 1
		token = <-links[tasks-1]
	}
	return since(begin) / (tasks * rounds)
}

func pingpong(workers int) float64 {
	runtime.GOMAXPROCS(workers)
	const rounds = 1000000
	there, back := make(chan int), make(chan int)
	go func() {
		for v := range there {
			back <- v + 1
		}
	}()
	v := 0
	begin := time.Now()
	for i := 0; i < rounds; i++ {
		there <- v
		v = <-back
	}
	return since(begin) / rounds
}

func buffered(senders, receivers int) float64 {
	const total = 8000000
	ch := make(chan int, 128)
	var sent, received sync.WaitGroup
	sent.Add(senders)
	received.Add(receivers)
	begin := time.Now()
	for r := 0; r < receivers; r++ {
		go func() {
			sum := 0
			for v := range ch {
				sum += v
			}
			received.Done()
		}()
	}
	for s := 0; s < senders; s++ {
		go func() {
			for i := 0; i < total/senders; i++ {
				ch <- i
			}
			sent.Done()
		}()
	}
	sent.Wait()
	close(ch)
	received.Wait()
	return total / since(begin) * 1000
}

// One goroutine sends to its channels in turn, the other selects over all of them.
func select2() float64 {
	const rounds = 1000000
	a, b := make(chan int), make(chan int)
	go func() {
		for i := 0; i < rounds/2; i++ {
			a <- i
			b <- i
		}
	}()
	begin := time.Now()
	for i := 0; i < rounds; i++ {
		select {
		case <-a:
		case <-b:
		}
	}
	return since(begin) / rounds
}

func select8() float64 {
	const rounds = 800000
	var c [8]chan int
	for i := range c {
		c[i] = make(chan int)
	}
	go func() {
		for i := 0; i < rounds/8; i++ {
			for _, each := range c {
				each <- i
			}
		}
	}()
	begin := time.Now()
	for i := 0; i < rounds; i++ {
		select {
		case <-c[0]:
		case <-c[1]:
		case <-c[2]:
		case <-c[3]:
		case <-c[4]:
		case <-c[5]:
		case <-c[6]:
		case <-c[7]:
		}
	}
	return since(begin) / rounds
}

// A hundred goroutines lock one mutex again and again, and count.
func mutex(workers int) float64 {
	runtime.GOMAXPROCS(workers)
	const tasks, each = 100, 100000
	var lock sync.Mutex
	var all sync.WaitGroup
	count := 0
	all.Add(tasks)
	begin := time.Now()
	for k := 0; k < tasks; k++ {
		go func() {
			for i := 0; i < each; i++ {
				lock.Lock()
				count++
				lock.Unlock()
			}
			all.Done()
		}()
	}
	all.Wait()
	if count != tasks*each {
		os.Exit(1)
	}
	return since(begin) / (tasks * each)
}

// So many goroutines start, wait for one channel to be closed, and end.
func startParkWake(count int) float64 {
	gate := make(chan struct{})
	var parked, all sync.WaitGroup
	parked.Add(count)
	all.Add(count)
	begin := time.Now()
	for i := 0; i < count; i++ {
		go func() {
			parked.Done()
			<-gate
			all.Done()
		}()
	}
	parked.Wait()
	close(gate)
	all.Wait()
	return since(begin) / 1e6
}

func main() {
	runtime.GOMAXPROCS(2)
	switch os.Args[1] {
	case "switch":
		fmt.Println(yields())
	case "spawn_join_1w":
		fmt.Println(spawnJoin(1))
	case "spawn_join_2w":
		fmt.Println(spawnJoin(2))
	case "skynet_join_1w":
		fmt.Println(skynetMs(1))
	case "skynet_join_2w":
		fmt.Println(skynetMs(2))
	case "sleep_100k":
		fmt.Println(sleepers(100000))
	case "sleep_1m":
		fmt.Println(sleepers(1000000))
	case "skynet_chan_2w":
		fmt.Println(skynetMs(2))
	case "ring_1w":
		fmt.Println(ring(1))
	case "ring_2w":
		fmt.Println(ring(2))
	case "pingpong_1w":
		fmt.Println(pingpong(1))
	case "pingpong_2w":
		fmt.Println(pingpong(2))
	case "spsc":
		fmt.Println(buffered(1, 1))
	case "mpmc_4x4":
		fmt.Println(buffered(4, 4))
	case "select2":
		fmt.Println(select2())
	case "select8":
		fmt.Println(select8())
	case "mutex_1w":
		fmt.Println(mutex(1))
	case "mutex_2w":
		fmt.Println(mutex(2))
	case "start_park_wake_join_1m":
		fmt.Println(startParkWake(1000000))
	default:
		fmt.Fprintln(os.Stderr, "no such workload:", os.Args[1])
		os.Exit(2)
	}
}

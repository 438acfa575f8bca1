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
	default:
		fmt.Fprintln(os.Stderr, "no such workload:", os.Args[1])
		os.Exit(2)
	}
}

// Cuts a file by all cores, exactly, with the functions of cleave_scan.h: see split.c, which does the same.
//
//	split FILE PIECES PREFIX        writes PREFIX.0, PREFIX.1 ...
//
// Beside cleave_scan.h and cleave_scan.cpp, which cgo compiles, go build makes it.
package main

// #cgo CXXFLAGS: -std=c++20 -O2
// #include "cleave_scan.h"
// static cleave_scan_dialect csv(void) { cleave_scan_dialect csv = CLEAVE_SCAN_CSV; return csv; }
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"unsafe"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func onAll(count int, work func(i int)) {
	var group sync.WaitGroup
	for i := 0; i < count; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			work(i)
		}(i)
	}
	group.Wait()
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: split FILE PIECES PREFIX")
		os.Exit(2)
	}
	count, err := strconv.Atoi(os.Args[2])
	check(err)
	text, err := os.ReadFile(os.Args[1])
	check(err)
	csv := C.csv()
	summaries := make([]C.cleave_scan_summary, count)
	onAll(count, func(i int) {
		begin, end := len(text)*i/count, len(text)*(i+1)/count
		part := text[begin:end]
		C.cleave_summarise(&csv, C.uint64_t(begin), unsafe.Pointer(unsafe.SliceData(part)), C.size_t(len(part)), &summaries[i])
	})

	state := C.cleave_scan_begin(&csv)
	begins := make([]uint64, count+1)
	begins[count] = uint64(len(text))
	records := uint64(0)
	for i := range summaries {
		var found C.cleave_scan_range
		if C.cleave_resolve(&summaries[i], &state, &found) != 0 {
			check(fmt.Errorf("the summaries do not fit together"))
		}
		records += uint64(found.records)
		begins[i] = uint64(found.first)
	}
	for i := count - 1; i >= 0; i-- { // a range without a record start leaves its piece empty
		begins[i] = min(begins[i], begins[i+1])
	}
	onAll(count, func(i int) {
		check(os.WriteFile(fmt.Sprintf("%s.%d", os.Args[3], i), text[begins[i]:begins[i+1]], 0o666))
	})
	fmt.Println(records, "records")
}

// SPDX-License-Identifier: MIT OR GPL-2.0-only

// check STRUCTURE [broken] <HISTORIES: asks Porcupine (github.com/anishathalye/porcupine) whether
// each history that history.c recorded is one of a structure whose calls take effect at one moment.
// The models are those of the public headers. With "broken" one result of each history is changed
// first. Prints how many are linearizable, how many are not, and how many Porcupine did not finish.
// Exit code 1: one is not; with "broken", too few are refused.
package main

import (
	"bufio"
	"fmt"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	keys   = 8
	enoent = -2
	eagain = -11
	ebusy  = -16
	eexist = -17
	enospc = -28
)

type input struct {
	call    string
	a, b, c uint64
	met     bool // of locks: another thread asked for keys of these at the same time
}

type output struct {
	ret int64
	out uint64
}

type state [keys]uint64 // values, 0: none; of locks 1 << 32 held, else how many share it

// A map of keys to values: add, set, erase, replace, cas, incr, get.
func stepMap(s state, in input, out output, tells bool) (bool, state) {
	was, next := s[in.a], s
	next[in.a] = in.b
	// what came out is the value that was there, where the call tells it
	told := !tells || out.out == was
	switch in.call {
	case "add":
		if was != 0 {
			return out.ret == eexist && told, s
		}
		return out.ret == 0, next
	case "set":
		return out.ret == 0, next
	case "get":
		if was == 0 {
			return out.ret == enoent, s
		}
		return out.ret == 0 && out.out == was, s
	case "incr":
		next[in.a] = was + 1000
		return out.ret == 0 && out.out == was+1000, next
	}
	if was == 0 {
		return out.ret == enoent, s
	}
	switch in.call {
	case "erase":
		next[in.a] = 0
		return out.ret == 0 && told, next
	case "replace":
		return out.ret == 0 && told, next
	case "cas":
		if was != in.c {
			return out.ret == eagain && told, s
		}
		return out.ret == 0, next
	}
	return false, s
}

// Free units: alloc takes one that is free and is refused if none is, free gives one back.
func stepSpace(s state, in input, out output) (bool, state) {
	if in.call == "free" {
		was := s[in.a]
		s[in.a] = 0
		return out.ret == 0 && was == 1, s
	}
	if out.ret == enospc {
		for _, used := range s {
			if used == 0 {
				return false, s
			}
		}
		return true, s
	}
	was := s[out.out]
	s[out.out] = 1
	return out.ret == 0 && was == 0, s
}

// Locks of [a, a + b), shared if c. One that does not wait is refused only if another one is held, or
// if it met a call of another thread that overlaps it (R2).
func stepLocks(s state, in input, out output) (bool, state) {
	const exclusive = 1 << 32
	clash := false
	for k := in.a; k < in.a+in.b; k++ {
		clash = clash || s[k] >= exclusive || (in.c == 0 && s[k] != 0)
	}
	if in.call != "unlock" && out.ret != 0 {
		return in.call == "try" && out.ret == ebusy && (clash || in.met), s
	}
	for k := in.a; k < in.a+in.b; k++ {
		change := uint64(1)
		if in.c == 0 {
			change = exclusive
		}
		if in.call == "unlock" {
			s[k] -= change
		} else {
			s[k] += change
		}
	}
	return in.call == "unlock" || !clash, s
}

func model(structure string) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return state{} },
		Step: func(s, in, out interface{}) (bool, interface{}) {
			var right bool
			var next state
			switch structure {
			case "space":
				right, next = stepSpace(s.(state), in.(input), out.(output))
			case "locks":
				right, next = stepLocks(s.(state), in.(input), out.(output))
			default: // the store does not tell what was there
				right, next = stepMap(s.(state), in.(input), out.(output), structure != "store")
			}
			return right, next
		},
		Equal: func(a, b interface{}) bool { return a.(state) == b.(state) },
	}
}

// Changes the result of one call so that it is another one's.
func spoil(history []porcupine.Operation, n int) {
	op := &history[n%len(history)]
	out := op.Output.(output)
	switch {
	case out.ret != 0:
		out.ret = 0
	case op.Input.(input).call == "get" || op.Input.(input).call == "incr":
		out.out += 7
	case op.Input.(input).call == "unlock" || op.Input.(input).call == "free" || op.Input.(input).call == "set":
		spoil(history, n+1)
		return
	default:
		out.ret = eagain
	}
	op.Output = out
}

// Marks the locks that met others. Returns how many calls overlap a call of another thread.
func overlaps(history []porcupine.Operation) int {
	n := 0
	for i, a := range history {
		in, beside := a.Input.(input), false
		for _, b := range history {
			if a.ClientId != b.ClientId && a.Call <= b.Return && b.Call <= a.Return {
				beside = true
				other := b.Input.(input)
				in.met = in.met || (other.call != "unlock" && other.a < in.a+in.b && in.a < other.a+other.b)
			}
		}
		history[i].Input = in
		if beside {
			n++
		}
	}
	return n
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: check index|bytes|store|space|locks [broken]")
		os.Exit(2)
	}
	broken := len(os.Args) > 2
	var history []porcupine.Operation
	counts := map[porcupine.CheckResult]int{}
	calls, overlapping, number := 0, 0, 0
	finish := func() {
		if len(history) == 0 {
			return
		}
		overlapping += overlaps(history)
		if broken {
			spoil(history, number*7)
		}
		number++
		calls += len(history)
		verdict := porcupine.CheckOperationsTimeout(model(os.Args[1]), history, 20*time.Second)
		counts[verdict]++
		if verdict == porcupine.Illegal && !broken && counts[verdict] == 1 {
			fmt.Printf("not linearizable: history %d\n", number)
			for _, op := range history {
				fmt.Println(op.ClientId, op.Call, op.Return, op.Input, op.Output)
			}
		}
		history = nil
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "H" {
			finish()
			continue
		}
		var op porcupine.Operation
		var in input
		var out output
		n, err := fmt.Sscan(lines.Text(), &op.ClientId, &op.Call, &op.Return, &in.call, &in.a, &in.b, &in.c, &out.ret, &out.out)
		if n != 9 {
			fmt.Fprintln(os.Stderr, "check: a line is not one of history.c:", lines.Text(), err)
			os.Exit(2)
		}
		op.Input, op.Output = in, out
		history = append(history, op)
	}
	finish()
	good, bad := counts[porcupine.Ok], counts[porcupine.Illegal]
	fmt.Printf("%s: %d calls, %d of them beside others, %d histories linearizable, %d not, %d not finished\n", os.Args[1], calls, overlapping, good,
		bad, counts[porcupine.Unknown])
	if number == 0 || (!broken && bad > 0) || (broken && bad*10 < number*8) {
		os.Exit(1)
	}
}

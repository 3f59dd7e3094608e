// model.go - what a name is, as porcupine sees it: at most one owner, whose tokens grow.
package main

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

const mostClaims = 512 // of one name in one history

const nobody = -1

// A name at one moment. Claims are known by their places in the history of the name.
type state struct {
	owner   int
	largest uint64 // of all tokens so far
	begun   [mostClaims / 64]uint64
}

// What was asked and answered. A claim that did not say how it ended is "may claim"; "end" is the end of what a claim has got, by its
// release, its node's hand on a stray, or the end of its lease.
type step struct {
	name, node, what string
	claim            int    // nobody: of no claim that was recorded
	token            uint64 // 0: not known
	whileHeld        bool   // a claim of a node that had the name, and had not given it up
}

func (s state) hasBegun(claim int) bool { return s.begun[claim/64]>>(claim%64)&1 == 1 }

func (s state) withOwner(i step) state {
	s.owner = i.claim
	if i.token > s.largest {
		s.largest = i.token
	}
	return s
}

func next(s state, i step) (bool, state) {
	switch i.what {
	case "claim", "may claim":
		s.begun[i.claim/64] |= 1 << (i.claim % 64)
		if i.what == "may claim" && i.token == 0 { // nobody has seen it: it has taken effect, or has not
			if s.owner == nobody {
				s = s.withOwner(i)
			}
			return true, s
		}
		return s.owner == nobody && i.token > s.largest && !i.whileHeld, s.withOwner(i)
	case "end":
		isLegal := s.hasBegun(i.claim)
		if s.owner == i.claim {
			s.owner = nobody
		}
		return isLegal, s
	case "refused":
		return s.owner != nobody, s
	case "nobody":
		return s.owner == nobody, s
	default: // "found", "held"
		return i.claim != nobody && s.owner == i.claim, s
	}
}

var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		var parts [][]porcupine.Operation
		places := map[string]int{}
		for _, o := range history {
			name := o.Input.(step).name
			if _, known := places[name]; !known {
				places[name] = len(parts)
				parts = append(parts, nil)
			}
			parts[places[name]] = append(parts[places[name]], o)
		}
		return parts
	},
	Init: func() interface{} { return state{owner: nobody} },
	Step: func(s, input, _ interface{}) (bool, interface{}) {
		isLegal, after := next(s.(state), input.(step))
		return isLegal, after
	},
	DescribeOperation: func(input, _ interface{}) string {
		i := input.(step)
		return fmt.Sprintf("%s %s by %s: claim %d, token %d", i.what, i.name, i.node, i.claim, i.token)
	},
	DescribeState: func(s interface{}) string {
		return fmt.Sprintf("owner: claim %d; largest token %d", s.(state).owner, s.(state).largest)
	},
}

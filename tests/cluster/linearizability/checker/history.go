// history.go - from what was recorded (../history.hpp) to the operations that are checked.
package main

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

type record struct {
	Seed                      uint64
	Client                    int
	What, Name, Node, Outcome string
	Life, Serial, Token       uint64
	LifeAfter                 uint64 `json:"life_after"`
	Owner                     string
	OwnerLife                 uint64 `json:"owner_life"`
	OwnerSerial               uint64 `json:"owner_serial"`
	Call, Returned            int64
}

// A claim that was not refused, and when it can have taken effect and have ended.
type claim struct {
	record
	isSure              bool
	givenUp             int64 // when its release was called
	latest              int64 // it has taken effect by then, or never
	endFirst, endLatest int64
}

// The claims of one name of one history.
type claims struct {
	all     []*claim
	byToken map[uint64]int
}

// The claim of the actor that was found. A serial comes again in the next process of a node, but its lives are later then; and a claim
// that has waited for another one of its node may be of a later life than that in which it was called.
func (c claims) ofActor(r record) int {
	found := nobody
	for n, o := range c.all {
		if o.Node == r.Owner && o.Serial == r.OwnerSerial && o.Life <= r.OwnerLife && (found == nobody || o.Life > c.all[found].Life) {
			found = n
		}
	}
	return found
}

// The claim that an observation says is the owner.
func (c claims) seen(r record) int {
	n, isKnown := nobody, false
	if r.What == "find" {
		n = c.ofActor(r)
		isKnown = n != nobody && (c.all[n].Token == r.Token || c.all[n].Token == 0)
	} else {
		n, isKnown = c.byToken[r.Token]
	}
	if !isKnown {
		return nobody
	}
	return n
}

func isObservation(r record) bool { return r.Outcome == "found" || r.What == "held" }

func claimsOf(name []record, last int64) (claims, error) {
	c := claims{byToken: map[uint64]int{}}
	for _, r := range name {
		if r.What != "claim" || r.Outcome == "refused" {
			continue
		}
		if r.Outcome == "ok" {
			if _, again := c.byToken[r.Token]; again || r.Token == 0 {
				return c, fmt.Errorf("seed %d: token %d of name %s is no new one", r.Seed, r.Token, r.Name)
			}
			c.byToken[r.Token] = len(c.all)
		}
		latest := last
		if r.Outcome == "ok" {
			latest = r.Returned
		}
		c.all = append(c.all, &claim{record: r, isSure: r.Outcome == "ok", givenUp: last, latest: latest, endFirst: r.Call, endLatest: last})
	}
	if len(c.all) > mostClaims {
		return c, fmt.Errorf("%d claims of name %s, more than %d", len(c.all), name[0].Name, mostClaims)
	}
	return c, nil
}

func earlier(a *int64, b int64) {
	if b < *a {
		*a = b
	}
}

// What a claim has got ends by the answer to its release, and before its node is seen in a later life. What was done without an answer
// is not done after the end of its life, either.
func (c claims) limit(name, all []record) {
	for _, r := range name {
		if n, isKnown := c.byToken[r.Token]; r.What == "release" && isKnown {
			earlier(&c.all[n].givenUp, r.Call)
			if r.Outcome == "ok" {
				earlier(&c.all[n].endLatest, r.Returned)
			}
		}
	}
	for _, o := range c.all {
		if o.LifeAfter == 0 || o.LifeAfter != o.Life {
			continue // which life it is of is not known
		}
		for _, r := range all {
			if r.What == "claim" && r.Node == o.Node && r.Life > o.Life {
				earlier(&o.latest, r.Call)
				earlier(&o.endLatest, r.Call)
			}
		}
	}
}

// Limits that follow from the model: they make the search short, and change nothing.
func (c claims) narrow(name []record) {
	for _, r := range name { // the token of a claim that has not said it
		if n := c.seen(r); r.Outcome == "found" && n != nobody && !c.all[n].isSure && c.all[n].Token == 0 {
			c.all[n].Token = r.Token
		}
	}
	for _, r := range name {
		if !isObservation(r) {
			continue
		}
		if n := c.seen(r); n != nobody {
			o := c.all[n]
			if r.Call > o.endFirst {
				o.endFirst = r.Call
			}
			if !o.isSure {
				earlier(&o.latest, r.Returned)
			}
		}
	}
	for _, o := range c.all {
		for _, r := range name {
			if tellsOwner := isObservation(r) || r.What == "claim" && r.Outcome == "ok"; tellsOwner && o.Token != 0 && r.Token > o.Token {
				earlier(&o.endLatest, r.Returned)
			}
		}
		earlier(&o.endFirst, o.endLatest) // a violation: it stays one
		if o.latest < o.Call {
			o.latest = o.Call
		}
		if o.endLatest < o.Call {
			o.endFirst, o.endLatest = o.Call, o.Call
		}
	}
}

func (c claims) isWhileHeld(o *claim) bool {
	for _, before := range c.all {
		isSameLife := before.Node == o.Node && before.Life == o.Life && before.LifeAfter == before.Life && o.LifeAfter == o.Life
		if before.isSure && o.isSure && isSameLife && before.Token < o.Token && before.givenUp > o.Returned {
			return true
		}
	}
	return false
}

// The operations of one name; `all` are the records of all names.
func operationsOf(name, all []record, last int64) ([]porcupine.Operation, error) {
	c, err := claimsOf(name, last)
	if err != nil {
		return nil, err
	}
	c.limit(name, all)
	c.narrow(name)
	var ops []porcupine.Operation
	add := func(r record, s step, call, returned int64, client int) {
		s.name, s.node = r.Name, r.Node
		ops = append(ops, porcupine.Operation{ClientId: client, Input: s, Call: call, Return: returned})
	}
	for _, r := range name {
		switch {
		case r.What == "claim" && r.Outcome == "refused", r.Outcome == "nobody":
			add(r, step{what: r.Outcome, claim: nobody}, r.Call, r.Returned, r.Client)
		case isObservation(r):
			what := map[string]string{"find": "found", "held": "held"}[r.What]
			add(r, step{what: what, claim: c.seen(r), token: r.Token}, r.Call, r.Returned, r.Client)
		}
	}
	for n, o := range c.all {
		what := "claim"
		if !o.isSure {
			what = "may claim"
		}
		add(o.record, step{what: what, claim: n, token: o.Token, whileHeld: c.isWhileHeld(o)}, o.Call, o.latest, o.Client)
		add(o.record, step{what: "end", claim: n, token: o.Token}, o.endFirst, o.endLatest, 100+n)
	}
	return ops, nil
}

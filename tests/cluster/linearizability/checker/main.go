// main.go - checks that histories of names (../history.hpp) are linearizable: reads them on its input, prints what it has checked.
//
//	names_checker [FOLDER]    FOLDER: where the picture of a history that is wrong goes
//
// Exit code 1 if one is wrong, 2 if they could not be checked.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/anishathalye/porcupine"
)

const longest = time.Minute // of one history

func fail(code int, format string, values ...interface{}) {
	fmt.Fprintf(os.Stderr, "names_checker: "+format+"\n", values...)
	os.Exit(code)
}

func check(history []record, folder string) {
	byName := map[string][]record{}
	last := int64(0)
	for _, r := range history {
		byName[r.Name] = append(byName[r.Name], r)
		if r.Returned >= last {
			last = r.Returned + 1
		}
	}
	var ops []porcupine.Operation
	for _, name := range byName {
		some, err := operationsOf(name, history, last)
		if err != nil {
			fail(1, "%v", err)
		}
		ops = append(ops, some...)
	}
	decide(seen(ops), history[0].Seed, folder)
	decide(ops, history[0].Seed, folder)
}

// Claims that nobody has seen explain refusals, and nothing else. Without both a violation is found at once, not after all that such
// claims may have done; a history that is linearizable is so without them, too.
func seen(ops []porcupine.Operation) []porcupine.Operation {
	var some []porcupine.Operation
	for _, o := range ops {
		i := o.Input.(step)
		if i.what != "refused" && (i.token != 0 || i.what == "nobody") {
			some = append(some, o)
		}
	}
	return some
}

func decide(ops []porcupine.Operation, seed uint64, folder string) {
	result, info := porcupine.CheckOperationsVerbose(model, ops, longest)
	if result == porcupine.Unknown {
		fail(2, "seed %d: not decided within %v", seed, longest)
	}
	if result == porcupine.Illegal {
		picture := filepath.Join(folder, fmt.Sprintf("names-%d.html", seed))
		if err := porcupine.VisualizePath(model, info, picture); err != nil {
			picture = err.Error()
		}
		fail(1, "seed %d: the history is not linearizable; see %s", seed, picture)
	}
}

func main() {
	folder := "."
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	var history []record
	histories, operations := 0, 0
	outcomes := map[string]int{}
	finish := func() {
		if len(history) > 0 {
			check(history, folder)
			histories++
			operations += len(history)
		}
		history = nil
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			fail(2, "%v in: %s", err, lines.Text())
		}
		if len(history) > 0 && r.Seed != history[0].Seed {
			finish()
		}
		history = append(history, r)
		outcomes[r.What+" "+r.Outcome]++
	}
	if err := lines.Err(); err != nil {
		fail(2, "%v", err)
	}
	finish()
	fmt.Printf("%d histories, %d operations: linearizable\n", histories, operations)
	counts, _ := json.Marshal(outcomes)
	fmt.Printf("%s\n", counts)
}

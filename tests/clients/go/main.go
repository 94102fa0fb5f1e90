// SPDX-License-Identifier: Apache-2.0

// driver - the Go client, driven by scenarios.py: see there for what it is asked.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"pawl"
)

type ask struct {
	Do, URL, Token, Tenant, Type, Key, ID string
	Text, Base64                          *string
	JSON                                  json.RawMessage
	Fields                                pawl.Fields
	Jobs                                  []ask
	RetryFor                              *float64 `json:"retry_for"`
	Timeout                               float64
	Keyless                               bool
	Concurrency                           int
	Lease                                 float64
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func wait(ctx context.Context, job *pawl.Job) (any, error) {
	job.Progress(10, "waiting")
	for !exists(string(job.Payload)) {
		time.Sleep(20 * time.Millisecond)
	}
	return "waited", nil
}

func stoppable(ctx context.Context, job *pawl.Job) (any, error) {
	job.Progress(10, "until told")
	<-ctx.Done()
	return nil, os.WriteFile(string(job.Payload), nil, 0o644)
}

func number(ctx context.Context, job *pawl.Job) (any, error) {
	var value struct{ N int64 }
	if err := job.JSON(&value); err != nil {
		return nil, err
	}
	return map[string]int64{"n": value.N + 1}, nil
}

func once(err error, then string) pawl.Handler {
	return func(ctx context.Context, job *pawl.Job) (any, error) {
		if job.Attempt == 1 {
			return nil, err
		}
		return then, nil
	}
}

var handlers = map[string]pawl.Handler{
	"upper": func(ctx context.Context, job *pawl.Job) (any, error) {
		return strings.ToUpper(string(job.Payload)), nil
	},
	"echo":      func(ctx context.Context, job *pawl.Job) (any, error) { return job.Payload, nil },
	"number":    number,
	"wait":      wait,
	"stoppable": stoppable,
	"fail": func(ctx context.Context, job *pawl.Job) (any, error) {
		return nil, pawl.Fail("no such thing")
	},
	"retry":  once(pawl.Retry("not yet"), "second"),
	"snooze": once(pawl.Snooze(100*time.Millisecond, "later"), "woke"),
	"crash":  func(ctx context.Context, job *pawl.Job) (any, error) { panic("broken") },
	"child": func(ctx context.Context, job *pawl.Job) (any, error) {
		job.Add("echo", "of "+job.ID, pawl.Fields{"priority": 7})
		return nil, nil
	},
}

func (a ask) payload() any {
	switch {
	case a.Base64 != nil:
		data, _ := base64.StdEncoding.DecodeString(*a.Base64)
		return data
	case a.JSON != nil:
		return a.JSON
	case a.Text != nil:
		return *a.Text
	}
	return nil
}

func value(data []byte) any {
	if data == nil {
		return nil
	}
	if utf8.Valid(data) {
		return map[string]string{"text": string(data)}
	}
	return map[string]string{"base64": base64.StdEncoding.EncodeToString(data)}
}

func shown(job *pawl.Info, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return map[string]any{"id": job.ID, "state": job.State, "error": job.Error, "attempt": job.Attempt,
		"payload": value(job.Payload), "result": value(job.Result)}, nil
}

var client *pawl.Client

func open(a ask) (any, error) {
	client = pawl.NewClient(a.URL, a.Token)
	client.Tenant, client.Keyless = a.Tenant, a.Keyless
	if a.RetryFor != nil {
		client.RetryFor = seconds(*a.RetryFor)
	}
	pawl.NewWorker(client, handlers, 1) // an inline client knows them from now on
	return nil, nil
}

func answer(a ask) (any, error) {
	ctx := context.Background()
	switch a.Do {
	case "open":
		return open(a)
	case "add":
		fields := pawl.Fields{}
		if a.Key != "" {
			fields["idempotency_key"] = a.Key
		}
		return client.Add(ctx, a.Type, a.payload(), a.Fields, fields)
	case "add_many":
		jobs := []pawl.NewJob{}
		for _, job := range a.Jobs {
			jobs = append(jobs, pawl.NewJob{Type: job.Type, Payload: job.payload(), Fields: job.Fields})
		}
		return client.AddMany(ctx, jobs)
	case "get":
		return shown(client.Get(ctx, a.ID))
	case "wait":
		limited, cancel := context.WithTimeout(ctx, seconds(a.Timeout))
		defer cancel()
		return shown(client.Wait(limited, a.ID))
	case "cancel":
		job, err := client.Cancel(ctx, a.ID)
		if err != nil {
			return nil, err
		}
		return job.State, nil
	}
	return nil, pawl.NewWorker(client, handlers, 1).Run()
}

func drive() error {
	lines := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // the end of what is asked
		}
		var a ask
		if err := json.Unmarshal(line, &a); err != nil {
			return err
		}
		said, err := answer(a)
		var refused *pawl.Error
		if errors.As(err, &refused) {
			_ = out.Encode(map[string]any{"error": map[string]any{"code": refused.Code,
				"status": refused.Status, "ids": refused.IDs}})
		} else if err != nil {
			return err
		} else {
			_ = out.Encode(map[string]any{"ok": said})
		}
	}
}

func work(text string) error {
	var a ask
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return err
	}
	client = pawl.NewClient(a.URL, "")
	client.Tenant = a.Tenant
	worker := pawl.NewWorker(client, handlers, a.Concurrency)
	worker.Lease, worker.Poll = seconds(a.Lease), seconds(0.5)
	return worker.Run()
}

func main() {
	var err error
	if os.Args[1] == "client" {
		err = drive()
	} else {
		err = work(os.Args[2])
	}
	if err != nil {
		panic(err)
	}
}

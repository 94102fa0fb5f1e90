// SPDX-License-Identifier: Apache-2.0

// Package pawl adds jobs to a pawl daemon and works on them. One file, standard library only.
//
//	client := pawl.NewClient("http://127.0.0.1:7420", "") // or https://HOST, unix:PATH
//	id, err := client.Add(ctx, "mail", map[string]string{"to": "ann"})
//	job, err := client.Wait(ctx, id)
//	fmt.Println(string(job.Result))
//
//	mail := func(ctx context.Context, job *pawl.Job) (any, error) {
//		job.Progress(50, "half")
//		return "sent", nil
//	}
//	err := pawl.NewWorker(client, map[string]pawl.Handler{"mail": mail}, 4).Run() // until SIGTERM
//
// An add is sent with a key of its own, so that it can be sent again after a lost answer
// without adding twice. NewClient("fake:", "") keeps jobs in memory, NewClient("inline:", "")
// also runs them at once: for the tests of your application.
package pawl

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	mathrand "math/rand"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"os/signal"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

// Version of this client.
const Version = "0.2.0"

const (
	pauseFirst = 50 * time.Millisecond // between two tries when the daemon names none
	pauseMax   = 5 * time.Second
	finishFor  = 10 * time.Minute // a result is told at least so long
)

// --- What can go wrong ---------------------------------------------------------------

// Error is a refusal. Code is a stable word such as job_not_found; Status is that of HTTP, 0
// if nobody answered. Of AddMany: IDs has "" where a job was refused, and Errors says why, by
// index. Sent says, where nobody answered, that the request may have been carried out.
type Error struct {
	Code, Detail, Hint string
	Status             int
	Sent               bool
	IDs                []string
	Errors             map[int]*Error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s [%s]", e.Detail, e.Code)
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

func (e *Error) again() bool {
	switch e.Status {
	case 429, 502, 503, 504: // refused for now: nothing was done
		return true
	}
	return e.Code == "daemon_unreachable" || e.Code == "idempotency_in_progress"
}

func unreachable(why error, sent bool) *Error {
	return &Error{Code: "daemon_unreachable", Detail: "no answer: " + why.Error(), Sent: sent}
}

// outcome is an error that ends a job other than by a result or an error.
type outcome struct {
	exitcode int
	after    *time.Duration
	why      string
}

func (o *outcome) Error() string { return o.why }

// Retry tries the job again after its usual delay; it counts as a try.
func Retry(why string) error { return &outcome{exitcode: 175, why: why} }

// Fail never tries the job again.
func Fail(why string) error { return &outcome{exitcode: 400, why: why} }

// Snooze tries again later. Where the daemon knows again_in it costs no try and the time is
// kept; otherwise this is a Retry.
func Snooze(after time.Duration, why string) error {
	return &outcome{exitcode: 175, after: &after, why: why}
}

// --- Values ---------------------------------------------------------------------------

// Fields are further fields of a job: queue, priority, delay, max_retries, …; the field
// idempotency_key is the key of the request instead of one of its own.
type Fields map[string]any

// NewJob is one job of AddMany. Payload is text, bytes, or any value that becomes JSON.
type NewJob struct {
	Type    string
	Payload any
	Fields  Fields
}

func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	coder := json.NewEncoder(&out)
	coder.SetEscapeHTML(false)
	if err := coder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// decode keeps whole numbers of any size (json.Number).
func decode(data []byte, into any) error {
	coder := json.NewDecoder(bytes.NewReader(data))
	coder.UseNumber()
	return coder.Decode(into)
}

// put sets name, or name_base64 of bytes that are no text.
func put(fields map[string]any, name string, data []byte) {
	if utf8.Valid(data) {
		fields[name] = string(data)
	} else {
		fields[name+"_base64"] = base64.StdEncoding.EncodeToString(data)
	}
}

// bytesOf: text and bytes as they are, any other value as JSON.
func bytesOf(value any) ([]byte, error) {
	switch known := value.(type) {
	case string:
		return []byte(known), nil
	case []byte:
		return known, nil
	}
	return encode(value)
}

func (n NewJob) object() (map[string]any, error) {
	made := map[string]any{"type": n.Type}
	for name, value := range n.Fields {
		if name != "idempotency_key" {
			made[name] = value
		}
	}
	if n.Payload == nil {
		return made, nil
	}
	data, err := bytesOf(n.Payload)
	if err == nil {
		put(made, "payload", data)
	}
	return made, err
}

// Info is a job as the daemon tells it; Raw has every field of the reference.
type Info struct {
	ID, Type, State, Error string
	Attempt                int
	Payload, Result        []byte // nil if there is none
	Cancelling             bool
	Raw                    map[string]any
}

// Final says that the job has ended.
func (i *Info) Final() bool {
	return i.State == "done" || i.State == "failed" || i.State == "rejected" || i.State == "cancelled"
}

func text(fields map[string]any, name string) string {
	found, _ := fields[name].(string)
	return found
}

func whole(fields map[string]any, name string) int64 {
	number, _ := fields[name].(json.Number)
	found, _ := number.Int64()
	return found
}

func infoOf(fields map[string]any) *Info {
	cancelling, _ := fields["cancelling"].(bool)
	return &Info{ID: text(fields, "id"), Type: text(fields, "type"), State: text(fields, "state"),
		Error: text(fields, "error"), Attempt: int(whole(fields, "attempt")),
		Payload: payloadOf(fields), Cancelling: cancelling, Raw: fields}
}

func payloadOf(fields map[string]any) []byte {
	if coded, ok := fields["payload_base64"].(string); ok {
		data, _ := base64.StdEncoding.DecodeString(coded)
		return data
	}
	if plain, ok := fields["payload"].(string); ok {
		return []byte(plain)
	}
	return nil
}

func seconds(d time.Duration) string {
	return fmt.Sprintf("PT%sS", strconv.FormatFloat(d.Seconds(), 'f', -1, 64))
}

// --- Adding and asking --------------------------------------------------------------------

// Client adds jobs and asks for them. It may be shared. Set its fields before first use.
type Client struct {
	Tenant   string        // whose jobs; else the token's, else default
	Timeout  time.Duration // for one answer
	RetryFor time.Duration // how long a request without an answer, or with a 429 or 503, is sent again
	// Keyless: where the daemon cannot take keys, because it is cut off from its store, add
	// without one; a lost answer is then an error, not tried again.
	Keyless bool
	TLS     *tls.Config

	url, token string
	once       sync.Once
	base       string
	http       *http.Client
	wrong      error
	fake       *fake
}

// NewClient takes http://HOST:PORT, https://HOST, unix:PATH, fake: or inline: ("":
// $PAWL_SERVER, else http://127.0.0.1:7420) and a token ("": $PAWL_TOKEN).
func NewClient(url, token string) *Client {
	if url == "" {
		url = os.Getenv("PAWL_SERVER")
	}
	if url == "" {
		url = "http://127.0.0.1:7420"
	}
	if token == "" {
		token = os.Getenv("PAWL_TOKEN")
	}
	client := &Client{Timeout: time.Minute, RetryFor: 30 * time.Second, url: url, token: token}
	if url == "fake:" || url == "inline:" {
		client.fake = &fake{inline: url == "inline:"}
	}
	return client
}

func (c *Client) prepare() error {
	c.once.Do(func() {
		transport := &http.Transport{TLSClientConfig: c.TLS, MaxIdleConnsPerHost: 100,
			IdleConnTimeout: 45 * time.Second} // the daemon hangs up after a minute
		c.base = strings.TrimSuffix(c.url, "/")
		if strings.HasPrefix(c.url, "unix:") {
			path := strings.TrimPrefix(c.url, "unix:")
			c.base = "http://localhost"
			transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", path)
			}
		} else if !strings.HasPrefix(c.url, "http://") && !strings.HasPrefix(c.url, "https://") {
			c.wrong = fmt.Errorf("not http://, https://, unix:PATH, fake: or inline: %s", c.url)
		}
		c.http = &http.Client{Transport: transport}
	})
	return c.wrong
}

// ask is one request.
type ask struct {
	method, path string
	body         any
	key          string
	once         bool // it must not be sent again if it may have been done
	retryFor     time.Duration
	but          string // a code with which it is not sent again, unless it may have been done
}

type answer struct {
	status int
	header http.Header
	data   []byte
}

func (c *Client) try(ctx context.Context, a ask, body []byte) (answer, *Error) {
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	sent := false
	limited = httptrace.WithClientTrace(limited, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { sent = true }})
	path := c.base + "/api/v1" + a.path
	if c.Tenant != "" {
		path += "?tenant=" + url.QueryEscape(c.Tenant)
	}
	request, err := http.NewRequestWithContext(limited, a.method, path, bytes.NewReader(body))
	if err != nil {
		return answer{}, unreachable(err, false)
	}
	request.Header.Set("User-Agent", "pawl-go/"+Version)
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if a.path == "/jobs" {
		request.Header.Set("Prefer", "return=minimal") // only its id is wanted
	}
	if a.key != "" {
		request.Header.Set("Idempotency-Key", a.key)
	}
	request.Close = a.once
	if a.once { // net/http sends again by itself on a connection that was hung up
		request.GetBody = nil
		c.http.CloseIdleConnections()
	}
	got, err := c.http.Do(request)
	if err != nil {
		return answer{}, unreachable(err, sent)
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	if err != nil {
		return answer{}, unreachable(err, true)
	}
	return answer{got.StatusCode, got.Header, data}, nil
}

func refusal(status int, data []byte) *Error {
	var problem struct{ Code, Detail, Title, Hint string }
	_ = json.Unmarshal(data, &problem)
	made := &Error{Code: problem.Code, Detail: problem.Detail, Hint: problem.Hint, Status: status}
	if made.Code == "" {
		made.Code = fmt.Sprintf("http_%d", status)
	}
	if made.Detail == "" {
		made.Detail = fmt.Sprintf("%s (status %d)", problem.Title, status)
	}
	return made
}

func (c *Client) call(ctx context.Context, a ask) (answer, error) {
	if err := c.prepare(); err != nil {
		return answer{}, err
	}
	var body []byte
	if a.body != nil {
		var err error
		if body, err = encode(a.body); err != nil {
			return answer{}, err
		}
	}
	until, pause, done := time.Now().Add(a.retryFor), pauseFirst, false
	for {
		got, failed := c.try(ctx, a, body)
		wait := time.Duration(float64(pause) * (0.5 + mathrand.Float64()/2))
		if failed != nil && failed.Sent && a.once {
			return got, failed
		}
		if failed != nil {
			done = done || failed.Sent
		} else if got.status < 400 {
			return got, nil
		} else {
			failed = refusal(got.status, got.data)
			if named, err := strconv.ParseUint(got.header.Get("Retry-After"), 10, 32); err == nil {
				wait = time.Duration(named) * time.Second
			}
		}
		if !failed.again() || (failed.Code == a.but && !done) || time.Now().Add(wait).After(until) {
			return got, failed
		}
		if err := sleep(ctx, wait); err != nil {
			return got, err
		}
		if pause *= 2; pause > pauseMax {
			pause = pauseMax
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func randomKey() string {
	var key [16]byte
	if _, err := rand.Read(key[:]); err != nil {
		panic(err) // the system has no random numbers
	}
	return hex.EncodeToString(key[:])
}

func codeOf(err error) string {
	var known *Error
	if errors.As(err, &known) {
		return known.Code
	}
	return ""
}

func (c *Client) send(ctx context.Context, body any, key string) (answer, error) {
	if key == "" {
		key = randomKey()
	}
	a := ask{method: "POST", path: "/jobs", body: body, key: key, retryFor: c.RetryFor}
	if c.Keyless {
		a.but = "store_unavailable"
	}
	got, err := c.call(ctx, a)
	if err == nil || !c.Keyless || codeOf(err) != a.but {
		return got, err
	}
	return c.call(ctx, ask{method: "POST", path: "/jobs", body: body, once: true, retryFor: c.RetryFor})
}

// Add adds a job and returns its id. The payload is text, bytes, or any value that becomes JSON.
func (c *Client) Add(ctx context.Context, kind string, payload any, fields ...Fields) (string, error) {
	job := NewJob{kind, payload, Fields{}}
	for _, some := range fields {
		for name, value := range some {
			job.Fields[name] = value
		}
	}
	if c.fake != nil {
		return c.fake.add(job)
	}
	made, err := job.object()
	if err != nil {
		return "", err
	}
	key, _ := job.Fields["idempotency_key"].(string)
	got, err := c.send(ctx, made, key)
	if err != nil {
		return "", err
	}
	var told struct{ ID string }
	return told.ID, decode(got.data, &told)
}

// AddMany adds many jobs in one request and returns their ids in order. If some were refused,
// the *Error has IDs and Errors; the others are added.
func (c *Client) AddMany(ctx context.Context, jobs []NewJob) ([]string, error) {
	ids := make([]string, len(jobs))
	made := make([]map[string]any, len(jobs))
	for k, job := range jobs {
		var err error
		if c.fake != nil {
			ids[k], err = c.fake.add(job)
		} else {
			made[k], err = job.object()
		}
		if err != nil {
			return nil, err
		}
	}
	if c.fake != nil || len(jobs) == 0 {
		return ids, nil
	}
	got, err := c.send(ctx, made, "")
	if err != nil {
		return nil, err
	}
	return idsOf(got.data, ids)
}

func idsOf(data []byte, ids []string) ([]string, error) {
	count, refused := 0, map[int]*Error{}
	first := -1
	for _, line := range bytes.Split(data, []byte("\n")) {
		var told struct {
			Line  int
			ID    string
			Error json.RawMessage
		}
		if len(line) == 0 || decode(line, &told) != nil || told.Line < 1 || told.Line > len(ids) {
			continue
		}
		count++
		ids[told.Line-1] = told.ID
		if told.Error != nil {
			refused[told.Line-1] = refusal(422, told.Error)
			if first < 0 {
				first = told.Line - 1
			}
		}
	}
	if count != len(ids) {
		return nil, unreachable(errors.New("the answer is not whole"), true)
	}
	if first < 0 {
		return ids, nil
	}
	return nil, &Error{Code: refused[first].Code, Status: 422, IDs: ids, Errors: refused,
		Detail: fmt.Sprintf("%d of %d jobs were refused: %s", len(refused), len(ids), refused[first].Detail)}
}

// Get returns the job.
func (c *Client) Get(ctx context.Context, id string) (*Info, error) {
	if c.fake != nil {
		return c.fake.get(id)
	}
	got, err := c.call(ctx, ask{method: "GET", path: "/jobs/" + id, retryFor: c.RetryFor})
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := decode(got.data, &fields); err != nil {
		return nil, err
	}
	return infoOf(fields), nil
}

// Result returns the bytes of its result; nil if there is none.
func (c *Client) Result(ctx context.Context, id string) ([]byte, error) {
	if c.fake != nil {
		job, err := c.fake.get(id)
		if err != nil {
			return nil, err
		}
		return job.Result, nil
	}
	got, err := c.call(ctx, ask{method: "GET", path: "/jobs/" + id + "/result", retryFor: c.RetryFor})
	if codeOf(err) == "result_not_found" {
		return nil, nil
	}
	return got.data, err
}

// Wait waits until the job is final, or the context ends, and returns it with its Result.
func (c *Client) Wait(ctx context.Context, id string) (*Info, error) {
	for pause := 20 * time.Millisecond; ; pause = time.Duration(math.Min(float64(pause)*1.5, 1e9)) {
		job, err := c.Get(ctx, id)
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		if err == nil && job.Final() {
			if c.fake == nil && whole(job.Raw, "result_size") > 0 {
				job.Result, err = c.Result(ctx, id)
			}
			return job, err
		}
		if c.fake != nil || sleep(ctx, pause) != nil {
			return nil, &Error{Code: "timeout", Detail: "job " + id + " is not final"}
		}
	}
}

// Cancel asks for the job's end and returns the job. One that is cancelled already stays so.
func (c *Client) Cancel(ctx context.Context, id string) (*Info, error) {
	if c.fake != nil {
		return c.fake.cancel(id)
	}
	got, err := c.call(ctx, ask{method: "POST", path: "/jobs/" + id + "/cancel", body: struct{}{},
		retryFor: c.RetryFor})
	if codeOf(err) == "invalid_state" {
		job, failed := c.Get(ctx, id)
		if failed == nil && (job.State == "cancelled" || job.Cancelling) {
			return job, nil
		}
	}
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := decode(got.data, &fields); err != nil {
		return nil, err
	}
	return infoOf(fields), nil
}

// --- For the tests of applications ---------------------------------------------------------

// fake has jobs in memory: they are kept until a Worker runs, or (inline) run when added.
type fake struct {
	inline   bool
	handlers map[string]Handler
	jobs     []*Info
	keys     map[string]string
}

func (f *fake) add(job NewJob) (string, error) {
	key, _ := job.Fields["idempotency_key"].(string)
	if id, known := f.keys[key]; known && key != "" {
		return id, nil
	}
	made := &Info{ID: fmt.Sprintf("%013d", len(f.jobs)+1), Type: job.Type, State: "ready",
		Raw: map[string]any(job.Fields)}
	if job.Payload != nil {
		var err error
		if made.Payload, err = bytesOf(job.Payload); err != nil {
			return "", err
		}
	}
	f.jobs = append(f.jobs, made)
	if f.keys == nil {
		f.keys = map[string]string{}
	}
	f.keys[key] = made.ID
	if f.inline {
		return made.ID, f.run(made)
	}
	return made.ID, nil
}

func (f *fake) run(info *Info) error {
	handler, known := f.handlers[info.Type]
	if !known {
		return &Error{Code: "handler_not_found", Detail: "no handler for " + info.Type}
	}
	info.Attempt++
	job := &Job{ID: info.ID, Type: info.Type, Attempt: info.Attempt, Payload: info.Payload,
		Fields: info.Raw, ctx: context.Background()}
	end := perform(handler, job)
	state := map[int]string{1: "retrying", 2: "done", 4: "failed"}[end["exitcode"].(int)/100]
	if state == "" {
		state = "rejected"
	}
	info.State, info.Error = state, text(end, "error")
	switch result := end["result"].(type) {
	case string:
		info.Result = []byte(result)
	case json.RawMessage:
		info.Result = result
	}
	if coded, ok := end["result_base64"].(string); ok {
		info.Result, _ = base64.StdEncoding.DecodeString(coded)
	}
	for _, child := range job.children {
		if _, err := f.add(child); err != nil {
			return err
		}
	}
	return nil
}

func (f *fake) runAll() error {
	for k := 0; k < len(f.jobs); k++ { // grows meanwhile
		if f.jobs[k].State == "ready" {
			if err := f.run(f.jobs[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fake) get(id string) (*Info, error) {
	for _, job := range f.jobs {
		if job.ID == id {
			found := *job
			return &found, nil
		}
	}
	return nil, &Error{Code: "job_not_found", Detail: "There is no such job: '" + id + "'", Status: 404}
}

func (f *fake) cancel(id string) (*Info, error) {
	for _, job := range f.jobs {
		if job.ID == id && !job.Final() {
			job.State = "cancelled"
		}
	}
	return f.get(id)
}

// --- Working ------------------------------------------------------------------------------

// Job is a job in hand.
type Job struct {
	ID, Type string
	Attempt  int
	Payload  []byte
	Fields   map[string]any // every field of the reference

	token    string
	worker   *Worker
	ctx      context.Context
	cancel   context.CancelFunc
	lock     sync.Mutex
	told     map[string]any
	children []NewJob
}

// JSON reads the payload into a value; whole numbers in an `any` are json.Number.
func (j *Job) JSON(into any) error { return decode(j.Payload, into) }

// Cancelled says that someone asked for the job's end, or that it is not ours any more. The
// handler's context is cancelled then.
func (j *Job) Cancelled() bool { return j.ctx.Err() != nil }

// Progress tells how far the job is: with the next heartbeat, which comes at once.
func (j *Job) Progress(percent int, message string) {
	j.lock.Lock()
	j.told = map[string]any{"progress": percent, "message": message}
	j.lock.Unlock()
	if j.worker != nil {
		select {
		case j.worker.beats <- struct{}{}:
		default: // one is due already
		}
	}
}

// Add adds a job together with the end of this one, if that is no retry.
func (j *Job) Add(kind string, payload any, fields Fields) {
	j.children = append(j.children, NewJob{kind, payload, fields})
}

func (j *Job) item(more map[string]any) map[string]any {
	item := map[string]any{"id": j.ID, "attempt": j.Attempt, "token": j.token}
	j.lock.Lock()
	defer j.lock.Unlock()
	for name, value := range j.told {
		item[name] = value
	}
	for name, value := range more {
		item[name] = value
	}
	return item
}

// Handler does a job. What it returns is the result: nil, text, bytes, or a value that becomes
// JSON. Errors of Retry, Fail and Snooze end the job so; any other, and a panic, is an error,
// tried again as the job says.
type Handler func(ctx context.Context, job *Job) (any, error)

// perform returns the fields of a finish that tell what became of the job.
func perform(handler Handler, job *Job) (end map[string]any) {
	defer func() {
		if why := recover(); why != nil {
			end = map[string]any{"exitcode": 500, "error": fmt.Sprintf("panic: %v", why)}
		}
	}()
	value, err := handler(job.ctx, job)
	var meant *outcome
	if errors.As(err, &meant) {
		end = map[string]any{"exitcode": meant.exitcode, "error": meant.why}
		if meant.after != nil {
			end["again_in"] = seconds(*meant.after)
		}
		return end
	}
	if err == nil {
		end, err = success(job, value)
	}
	if err != nil {
		return map[string]any{"exitcode": 500, "error": err.Error()}
	}
	return end
}

func success(job *Job, value any) (map[string]any, error) {
	end := map[string]any{"exitcode": 200}
	switch known := value.(type) {
	case nil:
	case string:
		put(end, "result", []byte(known))
	case []byte:
		put(end, "result", known)
	default:
		data, err := encode(value)
		if err != nil {
			return nil, err
		}
		end["result"] = json.RawMessage(data)
	}
	children := make([]map[string]any, len(job.children))
	for k, child := range job.children {
		var err error
		if children[k], err = child.object(); err != nil {
			return nil, err
		}
	}
	if len(children) > 0 {
		end["jobs"] = children
	}
	return end, nil
}

// Worker takes jobs and does them, each in a goroutine, until it is stopped. Set its fields
// before Run.
type Worker struct {
	Queues []string      // only these
	Lease  time.Duration // a worker that is not heard from for so long has lost its jobs
	Poll   time.Duration // how long one question for work waits: a stop takes at most as long
	Name   string
	Log    func(text string) // what goes wrong

	client      *Client
	handlers    map[string]Handler
	concurrency int
	stopping    chan struct{}
	stop        sync.Once
	beats       chan struct{}
	freed       chan struct{}
	lock        sync.Mutex
	jobs        map[*Job]bool
	noAgainIn   bool
}

// NewWorker makes one for these types, that does so many jobs at a time.
func NewWorker(client *Client, handlers map[string]Handler, concurrency int) *Worker {
	host, _ := os.Hostname()
	if client.fake != nil {
		client.fake.handlers = handlers
	}
	return &Worker{Lease: 30 * time.Second, Poll: 2 * time.Second,
		Name: fmt.Sprintf("%s:%d", host, os.Getpid()), Log: func(text string) { log.Print("pawl: " + text) },
		client: client, handlers: handlers, concurrency: concurrency, stopping: make(chan struct{}),
		beats: make(chan struct{}, 1), freed: make(chan struct{}, 1), jobs: map[*Job]bool{}}
}

// Stop takes no more jobs. Run returns when those in hand are done.
func (w *Worker) Stop() { w.stop.Do(func() { close(w.stopping) }) }

// Run works until Stop, SIGTERM or SIGINT; a second signal ends the process. Of a fake client:
// until nothing waits.
func (w *Worker) Run() error {
	if w.client.fake != nil {
		return w.client.fake.runAll()
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-signals:
			signal.Stop(signals)
			w.Stop()
		case <-over:
		}
	}()
	go w.heartbeat(over)
	var err error
	for err == nil && !w.stopped() {
		err = w.take()
	}
	for w.busy() > 0 {
		<-w.freed
	}
	return err
}

func (w *Worker) stopped() bool {
	select {
	case <-w.stopping:
		return true
	default:
		return false
	}
}

func (w *Worker) busy() int {
	w.lock.Lock()
	defer w.lock.Unlock()
	return len(w.jobs)
}

func (w *Worker) what(free int) map[string]any {
	types := []string{}
	for kind := range w.handlers {
		types = append(types, kind)
	}
	sort.Strings(types)
	what := map[string]any{"types": types, "max": free, "wait": seconds(w.Poll),
		"lease": seconds(w.Lease), "worker": w.Name}
	if len(w.Queues) > 0 {
		what["queues"] = w.Queues
	}
	return what
}

func (w *Worker) take() error {
	free := w.concurrency - w.busy()
	if free == 0 {
		select {
		case <-w.freed:
		case <-w.stopping:
		}
		return nil
	}
	until := time.Now().Add(w.Poll)
	got, err := w.client.call(context.Background(), ask{method: "POST", path: "/claims", body: w.what(free)})
	var known *Error
	if errors.As(err, &known) && known.again() {
		w.Log(err.Error() + "; asking again")
		return sleep(context.Background(), time.Duration(100+mathrand.Intn(400))*time.Millisecond)
	}
	if err != nil {
		return err
	}
	if got.status != 200 { // a daemon that does not let us wait is not asked all the time
		return sleep(context.Background(), time.Until(until))
	}
	var told struct{ Jobs []map[string]any }
	if err := decode(got.data, &told); err != nil {
		return err
	}
	for _, fields := range told.Jobs {
		w.begin(fields)
	}
	return nil
}

func (w *Worker) begin(fields map[string]any) {
	ctx, cancel := context.WithCancel(context.Background())
	job := &Job{ID: text(fields, "id"), Type: text(fields, "type"), Attempt: int(whole(fields, "attempt")),
		Payload: payloadOf(fields), Fields: fields, token: text(fields, "token"), worker: w,
		ctx: ctx, cancel: cancel}
	w.lock.Lock()
	w.jobs[job] = true
	w.lock.Unlock()
	go func() {
		if err := w.finish(job, perform(w.handlers[job.Type], job)); err != nil {
			w.Log("the result of " + job.ID + " is lost: " + err.Error())
		}
		cancel()
		w.lock.Lock()
		delete(w.jobs, job)
		w.lock.Unlock()
		select {
		case w.freed <- struct{}{}:
		default: // someone hears of it already
		}
	}()
}

func (w *Worker) tell(what string, items []map[string]any, retryFor time.Duration) ([]string, error) {
	got, err := w.client.call(context.Background(), ask{method: "POST", path: "/claims/" + what,
		body: map[string]any{"items": items}, retryFor: retryFor})
	if err != nil {
		return nil, err
	}
	var told struct{ Items []struct{ Status string } }
	if err := decode(got.data, &told); err != nil {
		return nil, err
	}
	words := make([]string, len(told.Items))
	for k, item := range told.Items {
		words[k] = item.Status
	}
	return words, nil
}

// finish tells the result until a daemon has heard it, or the lease must be over.
func (w *Worker) finish(job *Job, end map[string]any) error {
	patience := finishFor
	if w.Lease > patience {
		patience = w.Lease
	}
	w.lock.Lock()
	if w.noAgainIn {
		delete(end, "again_in")
	}
	w.lock.Unlock()
	_, err := w.tell("finish", []map[string]any{job.item(end)}, patience)
	var known *Error
	if !errors.As(err, &known) {
		return err
	}
	if _, snoozed := end["again_in"]; snoozed && known.Code == "unknown_field" { // a daemon before 0.2
		w.lock.Lock()
		w.noAgainIn = true
		w.lock.Unlock()
		return w.finish(job, end)
	}
	if known.Status == 400 || known.Status == 413 || known.Status == 422 {
		// It cannot take such a result, and never will.
		_, err = w.tell("finish", []map[string]any{job.item(map[string]any{"exitcode": 500,
			"error": known.Error()})}, patience)
	}
	return err
}

// heartbeat tells that all jobs in hand are still being worked on; those that should end hear
// of it.
func (w *Worker) heartbeat(over chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-w.beats:
		case <-time.After(w.Lease / 3):
		}
		w.renew()
		time.Sleep(50 * time.Millisecond) // progress that comes all the time is told at most so often
	}
}

func (w *Worker) renew() {
	var jobs []*Job
	var items []map[string]any
	w.lock.Lock()
	for job := range w.jobs {
		if !job.Cancelled() {
			jobs, items = append(jobs, job), append(items, job.item(nil))
		}
	}
	w.lock.Unlock()
	if len(jobs) == 0 {
		return
	}
	words, err := w.tell("renew", items, 0)
	if err != nil {
		w.Log("cannot renew: " + err.Error())
		return
	}
	for k, word := range words {
		if word != "ok" {
			jobs[k].cancel()
		}
	}
}

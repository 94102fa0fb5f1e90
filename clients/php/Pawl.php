<?php
// SPDX-License-Identifier: Apache-2.0
//
// Pawl - add jobs to a pawl daemon and work on them. One file, nothing but PHP.
//
//   require 'Pawl.php';
//
//   $client = new Pawl\Client('http://127.0.0.1:7420');     // or https://HOST, unix:PATH
//   $id = $client->add('mail', ['to' => 'ann']);            // text, bytes, or a JSON value
//   echo $client->wait($id)['result'];
//
//   $mail = fn (Pawl\Job $job) => 'sent to ' . $job->json()['to'];
//   (new Pawl\Worker($client, ['mail' => $mail], 4))->run();    // until SIGTERM
//
// An add is sent with a key of its own, so that it can be sent again after a lost answer
// without adding twice. new Client('fake:') keeps jobs in memory, new Client('inline:') also
// runs them at once: for the tests of your application. Workers need the extension pcntl.

declare(strict_types=1);

namespace Pawl;

const VERSION = '0.2.0';
const STATES_FINAL = ['done', 'failed', 'rejected', 'cancelled'];
const AGAIN = [429, 502, 503, 504]; // refused for now: nothing was done
const PAUSE_MAX = 5.0;              // seconds between two tries when the daemon names none
const JSON = JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION
    | JSON_THROW_ON_ERROR;

// --- What can go wrong ---------------------------------------------------------------

// The daemon refused. `problem` is a stable word such as `job_not_found`; `status` is that of
// HTTP, 0 if nobody answered. Of addMany: `ids` has null where a job was refused, and `errors`
// has [index, problem].
class Error extends \RuntimeException
{
    public function __construct(
        public string $problem,
        public string $detail,
        public int $status = 0,
        public ?string $hint = null,
        public array $ids = [],
        public array $errors = []
    ) {
        parent::__construct("$detail [$problem]" . ($hint ? ": $hint" : ''), $status);
    }

    // Whether the same request may be sent again.
    public function again(): bool
    {
        return in_array($this->status, AGAIN, true)
            || in_array($this->problem, ['daemon_unreachable', 'idempotency_in_progress'], true);
    }
}

// No answer. `sent` says that the request may have been carried out; `kept`, that it went over a
// connection that had been kept open, which the daemon may have hung up meanwhile.
class Unreachable extends Error
{
    public function __construct(string $detail, public bool $sent, public bool $kept = false)
    {
        parent::__construct('daemon_unreachable', $detail);
    }
}

// What a handler throws to end its job other than by a result or an error.
abstract class Outcome extends \RuntimeException
{
    public int $exitcode = 500;
    public ?float $after = null;
}

// Try the job again after its usual delay; counts as a try.
class Retry extends Outcome
{
    public int $exitcode = 175;
}

// Never try the job again.
class Fail extends Outcome
{
    public int $exitcode = 400;
}

// Not now: try again in `seconds`. Where the daemon knows `again_in` it costs no try and the
// time is kept; otherwise this is a Retry.
class Snooze extends Retry
{
    public function __construct(float $seconds, string $why = 'snoozed')
    {
        parent::__construct($why);
        $this->after = $seconds;
    }
}

// --- Values ---------------------------------------------------------------------------

function is_text(string $bytes): bool
{
    return preg_match('//u', $bytes) === 1;
}

// Text as it is, bytes as base64, any other value as it is or (json) as JSON text.
function put(array $fields, string $name, mixed $value, bool $json = true): array
{
    if (is_string($value) && !is_text($value)) {
        $fields["{$name}_base64"] = base64_encode($value);
    } elseif ($value !== null) {
        $fields[$name] = is_string($value) || !$json ? $value : json_encode($value, JSON);
    }
    return $fields;
}

function new_job(string $type, mixed $payload, array $fields): array
{
    return put(['type' => $type] + $fields, 'payload', $payload);
}

function payload_of(array $fields): ?string
{
    return isset($fields['payload_base64']) ? base64_decode($fields['payload_base64'])
        : $fields['payload'] ?? null;
}

function parse(string $text): mixed
{
    return json_decode($text, true, 512, JSON_BIGINT_AS_STRING | JSON_THROW_ON_ERROR);
}

function now(): float
{
    return hrtime(true) / 1e9;
}

function pause(float $seconds): void
{
    usleep((int) ($seconds * 1e6));
}

// --- The connection ---------------------------------------------------------------------

// One connection: plain HTTP/1.1 over TCP, TLS or a Unix socket.
class Connection
{
    public $stream = null;
    private string $target;
    private bool $kept = false;
    private string $host = 'localhost';

    public function __construct(string $url, private float $timeout, private array $tls)
    {
        if (str_starts_with($url, 'unix:')) {
            $this->target = 'unix://' . substr($url, 5);
            return;
        }
        $parts = parse_url($url);
        $schemes = ['http' => ['tcp', 80], 'https' => ['ssl', 443]];
        if (!isset($parts['host'], $schemes[$parts['scheme'] ?? ''])) {
            throw new \InvalidArgumentException(
                "not http://, https://, unix:PATH, fake: or inline: $url");
        }
        [$kind, $port] = $schemes[$parts['scheme']];
        $this->host = $parts['host'] . ':' . ($parts['port'] ?? $port);
        $this->target = "$kind://{$this->host}";
    }

    public function close(): void
    {
        if ($this->stream) {
            fclose($this->stream);
        }
        $this->stream = null;
    }

    // [status, headers, body]; Unreachable if there is none.
    public function call(string $method, string $path, array $headers, ?string $body): array
    {
        $this->send($method, $path, $headers, $body);
        return $this->receive();
    }

    public function send(string $method, string $path, array $headers, ?string $body): void
    {
        $this->kept = $this->stream !== null;
        $this->stream ??= $this->open();
        $head = "$method $path HTTP/1.1\r\nHost: {$this->host}\r\n";
        foreach ($headers as $name => $value) {
            $head .= "$name: $value\r\n";
        }
        if ($body !== null) {
            $head .= 'Content-Length: ' . strlen($body) . "\r\n";
        }
        $left = "$head\r\n$body";
        while ($left !== '') {
            $written = @fwrite($this->stream, $left);
            if (!$written) {
                $this->lost('the daemon hung up');
            }
            $left = substr($left, $written);
        }
    }

    public function receive(): array
    {
        do {
            $status = (int) (explode(' ', $this->line())[1] ?? 0);
            $headers = [];
            while (($text = $this->line()) !== '') {
                [$name, $value] = explode(':', $text, 2) + [1 => ''];
                $headers[strtolower($name)] = trim($value);
            }
        } while ($status === 100);
        $body = $status === 204 ? '' : $this->body($headers);
        if (($headers['connection'] ?? '') === 'close') {
            $this->close();
        }
        return [$status, $headers, $body];
    }

    private function open()
    {
        $context = stream_context_create(['ssl' => $this->tls]);
        $stream = @stream_socket_client($this->target, $number, $why, $this->timeout,
            STREAM_CLIENT_CONNECT, $context);
        if (!$stream) {
            $why = $why ?: error_get_last()['message'] ?? 'cannot connect';
            throw new Unreachable("no answer: $why", false);
        }
        stream_set_timeout($stream, (int) $this->timeout,
            (int) (fmod($this->timeout, 1) * 1e6));
        return $stream;
    }

    private function lost(string $why): never
    {
        $this->close();
        throw new Unreachable("no answer: $why", true, $this->kept);
    }

    private function line(): string
    {
        $line = @fgets($this->stream);
        if ($line === false || !str_ends_with($line, "\n")) {
            $this->lost('the daemon hung up');
        }
        return rtrim($line, "\r\n");
    }

    private function exactly(int $bytes): string
    {
        $data = '';
        while (strlen($data) < $bytes) {
            $part = @fread($this->stream, $bytes - strlen($data));
            if ($part === false || $part === '') {
                $this->lost('the answer ended early');
            }
            $data .= $part;
        }
        return $data;
    }

    private function body(array $headers): string
    {
        if (isset($headers['content-length'])) {
            return $this->exactly((int) $headers['content-length']);
        }
        if (($headers['transfer-encoding'] ?? '') !== 'chunked') {
            $data = stream_get_contents($this->stream);
            $this->close();
            return $data;
        }
        $data = '';
        while (($size = hexdec($this->line())) > 0) {
            $data .= $this->exactly((int) $size);
            $this->line();
        }
        $this->line();
        return $data;
    }
}

// --- Adding and asking --------------------------------------------------------------------

// url: http://HOST:PORT, https://HOST, unix:PATH, fake: or inline: (default: $PAWL_SERVER,
// else http://127.0.0.1:7420); token: $PAWL_TOKEN unless given; timeout: seconds for one
// answer; retryFor: seconds during which a request that got no answer, or a 429 or 503, is
// sent again; keyless: true: where the daemon cannot take keys, because it is cut off from its
// store, add without one (a lost answer is then an error, not tried again); tls: options of a
// stream context, such as cafile.
class Client
{
    public string $url;
    public ?Fake $fake = null;
    private ?string $token;
    private ?Connection $connection = null;

    public function __construct(
        ?string $url = null,
        ?string $token = null,
        public ?string $tenant = null,
        private float $timeout = 60,
        private float $retryFor = 30,
        private bool $keyless = false,
        private array $tls = []
    ) {
        $this->url = $url ?: (getenv('PAWL_SERVER') ?: 'http://127.0.0.1:7420');
        $this->token = $token ?: (getenv('PAWL_TOKEN') ?: null);
        if (in_array($this->url, ['fake:', 'inline:'], true)) {
            $this->fake = new Fake($this->url);
        } else {
            $this->connection = $this->connect();
        }
    }

    public function connect(): Connection
    {
        return new Connection($this->url, $this->timeout, $this->tls);
    }

    // Of a fake: the jobs so far.
    public function jobs(): array
    {
        return $this->fake?->jobs ?? [];
    }

    // Adds a job; returns its id. fields: queue, priority, delay, max_retries, …
    public function add(
        string $type,
        mixed $payload = null,
        array $fields = [],
        ?string $idempotencyKey = null
    ): string {
        if ($this->fake) {
            return $this->fake->add($type, $payload, $fields, $idempotencyKey);
        }
        return parse($this->send(new_job($type, $payload, $fields), $idempotencyKey))['id'];
    }

    // Adds many jobs in one request: arrays with type, payload and further fields. Returns
    // their ids in order. If some were refused, throws Error with `ids` and `errors`; the
    // others are added.
    public function addMany(array $jobs, ?string $idempotencyKey = null): array
    {
        $made = array_map(fn (array $job) => new_job($job['type'], $job['payload'] ?? null,
            array_diff_key($job, ['type' => 0, 'payload' => 0])), array_values($jobs));
        if ($this->fake) {
            return array_map(fn (array $job) => $this->fake->add($job['type'],
                payload_of($job), $job, null), $made);
        }
        if (!$made) {
            return [];
        }
        $lines = array_map(parse(...), explode("\n", trim($this->send($made, $idempotencyKey))));
        $told = array_values(array_filter($lines, fn (array $line) => isset($line['line'])));
        if (count($told) !== count($made)) {
            throw new Unreachable('the answer is not whole', true);
        }
        $ids = array_map(fn (array $line) => $line['id'] ?? null, $told);
        $errors = [];
        foreach ($told as $line) {
            if (isset($line['error'])) {
                $errors[] = [$line['line'] - 1, $line['error']];
            }
        }
        if ($errors) {
            throw new Error($errors[0][1]['code'], count($errors) . ' of ' . count($ids)
                . " jobs were refused: {$errors[0][1]['detail']}", 422, null, $ids, $errors);
        }
        return $ids;
    }

    // The same by the name that it has in other languages.
    public function add_many(array $jobs, ?string $idempotencyKey = null): array
    {
        return $this->addMany($jobs, $idempotencyKey);
    }

    // The job: an array with the fields of the reference, and `payload` as it was sent.
    public function get(string $id): array
    {
        if ($this->fake) {
            return $this->fake->get($id);
        }
        $job = parse($this->call('GET', "/jobs/$id")[1]);
        $job['payload'] = payload_of($job);
        return $job;
    }

    // The bytes of its result; null if there is none.
    public function result(string $id): ?string
    {
        if ($this->fake) {
            return $this->fake->get($id)['result'];
        }
        try {
            return $this->call('GET', "/jobs/$id/result")[1];
        } catch (Error $why) {
            return $why->problem === 'result_not_found' ? null : throw $why;
        }
    }

    // Waits until the job is final; returns it with its `result`. Throws Error `timeout` when
    // the seconds are over.
    public function wait(string $id, float $timeout = INF): array
    {
        $until = now() + $timeout;
        for ($pause = 0.02;; $pause = min($pause * 1.5, 1)) {
            $job = $this->get($id);
            if (in_array($job['state'], STATES_FINAL, true)) {
                $job['result'] ??= ($job['result_size'] ?? 0) ? $this->result($id) : null;
                return $job;
            }
            $left = $until - now();
            if ($left <= 0 || $this->fake) {
                throw new Error('timeout', "job $id is still {$job['state']}");
            }
            pause(min($pause, $left));
        }
    }

    // Asks for the job's end; returns the job. One that is cancelled already stays so.
    public function cancel(string $id, ?string $reason = null): array
    {
        if ($this->fake) {
            return $this->fake->cancel($id);
        }
        try {
            $body = $reason === null ? new \stdClass() : ['reason' => $reason];
            return parse($this->call('POST', "/jobs/$id/cancel", $body)[1]);
        } catch (Error $why) {
            $job = $why->problem === 'invalid_state' ? $this->get($id) : throw $why;
            return $job['state'] === 'cancelled' || $job['cancelling'] ? $job : throw $why;
        }
    }

    private function send(array $body, ?string $key): string
    {
        try {
            return $this->call('POST', '/jobs', $body, $key ?? bin2hex(random_bytes(16)),
                but: $this->keyless ? 'store_unavailable' : null)[1];
        } catch (Error $why) {
            if (!$this->keyless || $why->problem !== 'store_unavailable') {
                throw $why;
            }
        }
        return $this->call('POST', '/jobs', $body, repeat: false)[1];
    }

    // What the worker asks for.

    public function tell(string $what, array $items, float $retryFor): array
    {
        $told = parse($this->call('POST', "/claims/$what", ['items' => $items],
            retryFor: $retryFor)[1]);
        return array_column($told['items'], 'status');
    }

    // [path, headers, text] of a request.
    public function request(string $path, mixed $body, ?string $key = null): array
    {
        $tenant = $this->tenant === null ? '' : '?tenant=' . rawurlencode($this->tenant);
        $headers = ['User-Agent' => 'pawl-php/' . VERSION];
        if ($this->token !== null) {
            $headers['Authorization'] = "Bearer {$this->token}";
        }
        if ($body !== null) {
            $headers['Content-Type'] = 'application/json';
        }
        if ($path === '/jobs') {
            $headers['Prefer'] = 'return=minimal'; // only its id is wanted
        }
        if ($key !== null) {
            $headers['Idempotency-Key'] = $key;
        }
        return ["/api/v1$path$tenant", $headers, $body === null ? null : json_encode($body, JSON)];
    }

    // [status, body]. repeat: it may be sent again although it may have been done. but: a
    // problem with which it is not sent again, unless it may have been done.
    private function call(
        string $method,
        string $path,
        mixed $body = null,
        ?string $key = null,
        bool $repeat = true,
        ?float $retryFor = null,
        ?string $but = null
    ): array {
        [$path, $headers, $text] = $this->request($path, $body, $key);
        $until = now() + ($retryFor ?? $this->retryFor);
        for ($pause = 0.05, $done = false;; $pause = min($pause * 2, PAUSE_MAX)) {
            if (!$repeat) { // so that a connection that was hung up is not taken for a loss
                $this->connection->close();
            }
            try {
                [$status, $answered, $data] =
                    $this->connection->call($method, $path, $headers, $text);
                if ($status < 400) {
                    return [$status, $data];
                }
                [$error, $wait] = [self::refusal($status, $data), $answered['retry-after'] ?? ''];
            } catch (Unreachable $why) {
                if ($why->sent && !$repeat) {
                    throw $why;
                }
                [$error, $wait, $done] = [$why, '', $done || $why->sent];
                if ($why->kept) { // a new connection is tried at once
                    continue;
                }
            }
            if (!$error->again() || ($error->problem === $but && !$done)) {
                throw $error;
            }
            $wait = ctype_digit($wait) ? (float) $wait : $pause * random_int(50, 100) / 100;
            if (now() + $wait > $until) {
                throw $error;
            }
            pause($wait);
        }
    }

    public static function refusal(int $status, string $data): Error
    {
        $problem = json_decode($data, true);
        $problem = is_array($problem) ? $problem : [];
        return new Error($problem['code'] ?? "http_$status",
            $problem['detail'] ?? $problem['title'] ?? "status $status", $status,
            $problem['hint'] ?? null);
    }
}

// Jobs in memory: `fake:` keeps them until a Worker runs, `inline:` runs them in add.
class Fake
{
    public array $jobs = [];
    public array $handlers = [];

    public function __construct(private string $url)
    {
    }

    public function add(string $type, mixed $payload, array $fields, ?string $key): string
    {
        foreach ($this->jobs as $job) {
            if ($key !== null && $job['key'] === $key) {
                return $job['id'];
            }
        }
        $id = sprintf('%013d', count($this->jobs) + 1);
        $this->jobs[] = ['id' => $id, 'type' => $type, 'key' => $key, 'state' => 'ready',
            'payload' => payload_of(new_job($type, $payload, [])), 'attempt' => 0,
            'error' => null, 'result' => null, 'cancelling' => false] + $fields;
        if ($this->url === 'inline:') {
            $this->runOne(count($this->jobs) - 1);
        }
        return $id;
    }

    private function runOne(int $index): void
    {
        $job = &$this->jobs[$index];
        $handler = $this->handlers[$job['type']]
            ?? throw new Error('handler_not_found', "no handler for {$job['type']}");
        $job['attempt']++;
        $end = perform($handler, new Job($job, null));
        $states = [1 => 'retrying', 2 => 'done', 4 => 'failed'];
        $job['state'] = $states[intdiv($end['exitcode'], 100)] ?? 'rejected';
        $job['error'] = $end['error'] ?? null;
        $result = $end['result'] ?? null;
        $job['result'] = isset($end['result_base64']) ? base64_decode($end['result_base64'])
            : ($result === null || is_string($result) ? $result : json_encode($result, JSON));
        unset($job);
        foreach ($end['jobs'] ?? [] as $child) {
            $this->add($child['type'], payload_of($child), [], null);
        }
    }

    // Runs what waits, and what that adds.
    public function runAll(): void
    {
        for ($k = 0; $k < count($this->jobs); $k++) {
            if ($this->jobs[$k]['state'] === 'ready') {
                $this->runOne($k);
            }
        }
    }

    public function get(string $id): array
    {
        foreach ($this->jobs as $job) {
            if ($job['id'] === $id) {
                return $job;
            }
        }
        throw new Error('job_not_found', "There is no such job: '$id'", 404);
    }

    public function cancel(string $id): array
    {
        foreach ($this->jobs as &$job) {
            if ($job['id'] === $id && !in_array($job['state'], STATES_FINAL, true)) {
                $job['state'] = 'cancelled';
            }
        }
        unset($job);
        return $this->get($id);
    }
}

// --- Working ------------------------------------------------------------------------------

// A job in hand. `payload` is a string of any bytes; json() is its value; `fields` has the
// rest. It runs in a process of its own: open connections to databases inside the handler.
class Job
{
    public string $id;
    public string $type;
    public int $attempt;
    public ?string $payload;
    public array $children = [];
    private bool $told = false;

    // parent: the stream to the worker; null in tests of applications.
    public function __construct(public array $fields, private $parent)
    {
        [$this->id, $this->type] = [$fields['id'], $fields['type']];
        $this->attempt = $fields['attempt'];
        $this->payload = payload_of($fields);
    }

    public function json(): mixed
    {
        return parse($this->payload);
    }

    // Whether someone asked for its end, or it is not ours any more: stop.
    public function cancelled(): bool
    {
        if ($this->parent && !$this->told) {
            [$read, $write, $except] = [[$this->parent], null, null];
            $this->told = @stream_select($read, $write, $except, 0) > 0;
        }
        return $this->told;
    }

    // Tells how far the job is: with a heartbeat, which comes at once.
    public function progress(int $percent, ?string $message = null): void
    {
        if ($this->parent) {
            $told = ['progress' => $percent] + ($message === null ? [] : ['message' => $message]);
            fwrite($this->parent, json_encode(['progress' => $told], JSON) . "\n");
        }
    }

    // Adds a job together with the end of this one, if that is no retry.
    public function add(string $type, mixed $payload = null, array $fields = []): void
    {
        $this->children[] = new_job($type, $payload, $fields);
    }
}

// The fields of a finish that tell what became of the job.
function perform(callable $handler, Job $job): array
{
    try {
        $end = put(['exitcode' => 200], 'result', $handler($job), false);
        json_encode($end, JSON); // a result that cannot be told is an error of the handler
        return $job->children ? $end + ['jobs' => $job->children] : $end;
    } catch (Outcome $why) {
        return ['exitcode' => $why->exitcode, 'error' => $why->getMessage()]
            + ($why->after === null ? [] : ['again_in' => "PT{$why->after}S"]);
    } catch (\Throwable $why) {
        $text = get_class($why) . ': ' . $why->getMessage();
        return ['exitcode' => 500, 'error' => is_text($text) ? $text : get_class($why)];
    }
}

// A job in hand, as the worker sees it: a process, and the stream to it.
class Child
{
    public array $told = [];
    public string $said = '';
    public ?array $end = null;
    public bool $cancelled = false;
    public float $next = 0; // when to tell the end again

    public function __construct(public array $fields, public int $pid, public $stream)
    {
    }

    public function item(array $more = []): array
    {
        return ['id' => $this->fields['id'], 'attempt' => $this->fields['attempt'],
            'token' => $this->fields['token']] + $more + $this->told;
    }
}

// Takes jobs and does each in a process of its own until it is stopped.
//
// handlers: type => callable(Job). What it returns is the result (null, a string, or a JSON
// value). Retry, Fail, Snooze end the job so; anything else thrown is an error, tried again as
// the job says; so is the end of the process. concurrency: jobs at a time; queues: only these;
// lease: seconds after which a worker that is not heard from has lost its jobs, renewed three
// times in that time; poll: seconds that one question for work waits (a stop takes at most as
// long); log: a callable for what goes wrong.
class Worker
{
    private array $what;
    private array $children = [];
    private bool $stopping = false;
    private bool $againIn = true;
    private bool $asked = false; // a claim is on its way
    private float $claimAt = 0;  // when to ask again
    private ?Error $failed = null; // the daemon will never give us work
    private float $beatAt = INF;
    private ?Connection $claims = null;
    private $log;

    public function __construct(
        private Client $client,
        private array $handlers,
        private int $concurrency = 1,
        ?array $queues = null,
        private float $lease = 30,
        private float $poll = 2,
        ?string $name = null,
        ?callable $log = null
    ) {
        $this->log = $log ?? fn (string $text) => fwrite(STDERR, "pawl: $text\n");
        $this->what = ['types' => array_map(strval(...), array_keys($handlers)),
            'lease' => "PT{$lease}S", 'worker' => $name ?? gethostname() . ':' . getmypid()]
            + ($queues === null ? [] : ['queues' => $queues]);
        if ($client->fake) {
            $client->fake->handlers = $handlers;
        } elseif (!function_exists('pcntl_fork')) {
            throw new \RuntimeException('a Pawl\Worker needs the extension pcntl');
        }
    }

    // Takes no more jobs. run() returns when those in hand are done.
    public function stop(): void
    {
        $this->stopping = true;
    }

    // Works until stop(), SIGTERM or SIGINT. Of a fake client: until nothing waits.
    public function run(): void
    {
        if ($this->client->fake) {
            $this->client->fake->runAll();
            return;
        }
        pcntl_async_signals(true);
        foreach ([SIGTERM, SIGINT] as $number) {
            pcntl_signal($number, $this->heard(...), false);
        }
        $this->claims = $this->client->connect();
        try {
            while (!$this->stopping || $this->children || $this->asked) {
                $this->turn();
            }
        } finally {
            foreach ([SIGTERM, SIGINT] as $number) {
                pcntl_signal($number, SIG_DFL);
            }
            $this->claims->close();
        }
        if ($this->failed) {
            throw $this->failed;
        }
    }

    // A second signal ends the process.
    private function heard(int $number): void
    {
        pcntl_signal($number, SIG_DFL);
        $this->stop();
    }

    private function turn(): void
    {
        $free = $this->concurrency - count($this->children);
        if (!$this->stopping && !$this->asked && $free > 0 && now() >= $this->claimAt) {
            $this->ask($free);
        }
        $this->listen();
        if (now() >= $this->beatAt) {
            $this->renew();
        }
        foreach ($this->children as $key => $child) {
            if ($child->end !== null && now() >= $child->next && $this->finish($child)) {
                unset($this->children[$key]);
            }
        }
    }

    // Asks for work; the answer is listened for.
    private function ask(int $free): void
    {
        [$path, $headers, $text] = $this->client->request('/claims',
            ['max' => $free, 'wait' => "PT{$this->poll}S"] + $this->what);
        try {
            $this->claims->send('POST', $path, $headers, $text);
            $this->asked = true;
            $this->claimAt = now() + $this->poll;
        } catch (Unreachable $why) {
            $this->later($why);
        }
    }

    private function later(Error $why): void
    {
        if (!$why->again()) {
            $this->stopping = true; // the jobs in hand are finished
            $this->failed = $why;
            return;
        }
        ($this->log)("{$why->getMessage()}; asking again");
        $this->claimAt = now() + random_int(100, 500) / 1000;
    }

    // Waits until something happens, a quarter of a second at most.
    private function listen(): void
    {
        $read = $this->asked ? ['claims' => $this->claims->stream] : [];
        foreach ($this->children as $key => $child) {
            if ($child->end === null) {
                $read[$key] = $child->stream;
            }
        }
        if (!$read) {
            pause(0.02);
            return;
        }
        $write = $except = null;
        if (!@stream_select($read, $write, $except, 0, 250000)) {
            return;
        }
        foreach (array_keys($read) as $key) {
            if ($key === 'claims') {
                $this->take();
            } else {
                $this->hear($this->children[$key]);
            }
        }
    }

    private function take(): void
    {
        $this->asked = false;
        try {
            [$status, , $data] = $this->claims->receive();
        } catch (Unreachable $why) {
            $this->later($why);
            return;
        }
        if ($status >= 400) {
            $this->later(Client::refusal($status, $data));
            return;
        }
        // A daemon that does not let us wait is not asked all the time: claimAt stays.
        foreach ($status === 200 ? parse($data)['jobs'] : [] as $fields) {
            $this->claimAt = 0;
            $this->children["{$fields['id']}.{$fields['attempt']}"] = $this->fork($fields);
            $this->beatAt = min($this->beatAt, now() + $this->lease / 3);
        }
    }

    private function fork(array $fields): Child
    {
        [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $pid = pcntl_fork();
        if ($pid !== 0) {
            fclose($theirs);
            stream_set_blocking($ours, false);
            $child = new Child($fields, $pid, $ours);
            if ($pid < 0) {
                $child->end = ['exitcode' => 500, 'error' => 'no process could be started'];
            }
            return $child;
        }
        foreach ([SIGTERM, SIGINT] as $number) { // the worker decides when to stop
            pcntl_signal($number, SIG_IGN);
        }
        fclose($ours);
        $end = perform($this->handlers[$fields['type']], new Job($fields, $theirs));
        fwrite($theirs, json_encode(['end' => $end], JSON) . "\n");
        fflush($theirs);
        while (ob_get_level() > 0) {
            ob_end_flush();
        }
        posix_kill(getmypid(), SIGKILL); // without closing what belongs to the worker
        exit;
    }

    // What a child says: its progress, its end, or nothing any more.
    private function hear(Child $child): void
    {
        $part = fread($child->stream, 1 << 20);
        $child->said .= $part;
        while (($at = strpos($child->said, "\n")) !== false) {
            $told = parse(substr($child->said, 0, $at));
            $child->said = substr($child->said, $at + 1);
            $child->end = $told['end'] ?? null;
            if (isset($told['progress'])) {
                $child->told = $told['progress'];
                $this->beatAt = 0;
            }
        }
        if ($child->end === null && ($part === '' || $part === false) && feof($child->stream)) {
            $child->end = ['exitcode' => 500, 'error' => 'the process of the handler ended'];
        }
    }

    // Whether the daemon has heard the result, or never will.
    private function finish(Child $child): bool
    {
        $end = $child->end;
        if (!$this->againIn) {
            unset($end['again_in']);
        }
        try {
            $this->client->tell('finish', [$child->item($end)], 0);
        } catch (Error $why) {
            if ($why->again()) {
                $child->next = now() + random_int(100, 1000) / 1000;
                return false;
            }
            if ($why->problem === 'unknown_field' && isset($end['again_in'])) {
                $this->againIn = false; // a daemon before 0.2
                return false;
            }
            if (in_array($why->status, [400, 413, 422], true) && $end['exitcode'] !== 500) {
                // It cannot take such a result, and never will.
                $child->end = ['exitcode' => 500, 'error' => $why->getMessage()];
                return false;
            }
            ($this->log)("the result of {$child->fields['id']} is lost: {$why->getMessage()}");
        }
        fclose($child->stream);
        pcntl_waitpid($child->pid, $status);
        return true;
    }

    // Tells that all jobs in hand are still being worked on; those that should end hear of it.
    private function renew(): void
    {
        $this->beatAt = $this->children ? now() + $this->lease / 3 : INF;
        $jobs = array_values(array_filter($this->children,
            fn (Child $child) => !$child->cancelled && $child->end === null));
        if (!$jobs) {
            return;
        }
        try {
            $words = $this->client->tell('renew',
                array_map(fn (Child $child) => $child->item(), $jobs), 0);
        } catch (Error $why) {
            ($this->log)("cannot renew: {$why->getMessage()}");
            return;
        }
        foreach ($words as $k => $word) {
            if ($word !== 'ok') {
                $jobs[$k]->cancelled = true;
                fwrite($jobs[$k]->stream, "stop\n");
            }
        }
    }
}

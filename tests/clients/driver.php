<?php
// SPDX-License-Identifier: Apache-2.0
// driver - the PHP client, driven by scenarios.py: see there for what it is asked.
declare(strict_types=1);

require __DIR__ . '/../../clients/php/Pawl.php';

use Pawl\Job;

$handlers = [
    'upper' => fn (Job $job) => strtoupper($job->payload),
    'echo' => fn (Job $job) => $job->payload,
    'number' => fn (Job $job) => ['n' => $job->json()['n'] + 1],
    'wait' => function (Job $job) {
        $job->progress(10, 'waiting');
        while (!file_exists($job->payload)) {
            usleep(20000);
            clearstatcache();
        }
        return 'waited';
    },
    'stoppable' => function (Job $job) {
        $job->progress(10, 'until told');
        while (!$job->cancelled()) {
            usleep(20000);
        }
        touch($job->payload);
    },
    'fail' => fn () => throw new Pawl\Fail('no such thing'),
    'retry' => fn (Job $job) => $job->attempt === 1 ? throw new Pawl\Retry('not yet') : 'second',
    'snooze' => fn (Job $job) => $job->attempt === 1 ? throw new Pawl\Snooze(0.1, 'later') : 'woke',
    'crash' => fn () => throw new LogicException('broken'),
    'child' => function (Job $job) {
        $job->add('echo', "of {$job->id}", ['priority' => 7]);
    },
];

function payload(array $ask): mixed
{
    return isset($ask['base64']) ? base64_decode($ask['base64']) : $ask['json'] ?? $ask['text'] ?? null;
}

function value(?string $value): ?array
{
    return $value === null ? null
        : (Pawl\is_text($value) ? ['text' => $value] : ['base64' => base64_encode($value)]);
}

function shown(array $job): array
{
    return ['id' => $job['id'], 'state' => $job['state'], 'error' => $job['error'],
        'attempt' => $job['attempt'], 'payload' => value($job['payload']),
        'result' => value($job['result'] ?? null)];
}

$state = new stdClass();
$answers = [
    'open' => function (array $ask) use ($state, $handlers) {
        $state->client = new Pawl\Client($ask['url'], $ask['token'] ?? null, $ask['tenant'] ?? null,
            retryFor: $ask['retry_for'] ?? 30, keyless: $ask['keyless'] ?? false);
        $state->worker = new Pawl\Worker($state->client, $handlers);
    },
    'add' => fn (array $ask) => $state->client->add($ask['type'], payload($ask),
        $ask['fields'] ?? [], $ask['key'] ?? null),
    'add_many' => fn (array $ask) => $state->client->addMany(array_map(fn (array $job) =>
        ['type' => $job['type'], 'payload' => payload($job)] + ($job['fields'] ?? []), $ask['jobs'])),
    'get' => fn (array $ask) => shown($state->client->get($ask['id'])),
    'wait' => fn (array $ask) => shown($state->client->wait($ask['id'], $ask['timeout'])),
    'cancel' => fn (array $ask) => $state->client->cancel($ask['id'])['state'],
    'run' => fn () => $state->worker->run(),
];

if ($argv[1] === 'client') {
    while (($line = fgets(STDIN)) !== false) {
        $ask = Pawl\parse($line);
        try {
            $said = ['ok' => $answers[$ask['do']]($ask)];
        } catch (Pawl\Error $why) {
            $said = ['error' => ['code' => $why->problem, 'status' => $why->status,
                'ids' => $why->ids]];
        }
        echo json_encode($said, Pawl\JSON), "\n";
    }
} else {
    $ask = Pawl\parse($argv[2]);
    (new Pawl\Worker(new Pawl\Client($ask['url'], tenant: $ask['tenant']), $handlers,
        $ask['concurrency'], lease: $ask['lease'], poll: 0.5))->run();
}

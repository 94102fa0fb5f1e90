<?php
// SPDX-License-Identifier: Apache-2.0
// The PHP side of a warm context: docs/reference/contexts.md says what it speaks.

final class PawlOutcome extends Exception {}

// What a body can ask for: $pawl, or Pawl:: from inside functions.
final class Pawl
{
    public static string $current = '';
    public static $reply;

    public static function retry($message = '') { throw new PawlOutcome((string)$message, 100); }
    public static function fail($message = '') { throw new PawlOutcome((string)$message, 400); }

    public static function add($type, $payload = '')
    {
        if (!preg_match('/\A[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}\z/', (string)$type))
            throw new InvalidArgumentException("pawl->add: \"$type\" is not the name of a type");
        self::say('J: ' . self::$current . " $type|", self::bytes($payload));
    }

    public static function progress($percent, $message = '')
    {
        $text = str_replace("\n", ' ', (string)$message);
        self::write('P: ' . self::$current . ' ' . (int)$percent . " $text\n");
    }

    public static function write(string $data)
    {
        fwrite(self::$reply, $data);
        fflush(self::$reply);
    }

    public static function bytes($value): string
    {
        if ($value === null) return '';
        return is_string($value) ? $value
            : json_encode($value, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
    }

    // One line, or its head and a count where the text does not fit into a line.
    public static function say(string $head, string $text)
    {
        $counted = strpos($text, "\n") !== false || strncmp($text, '<<', 2) === 0;
        self::write($counted ? "$head<<" . strlen($text) . "\n$text" : "$head$text\n");
    }
}

final class PawlContext
{
    private array $handlers = [];

    private function script(array $handler, string $part)
    {
        if (isset($handler[$part])) eval($handler[$part]);
    }

    // Once in a context; again with the next batch if it failed.
    private function prepare(string $name)
    {
        $handler = &$this->handlers[$name];
        if (isset($handler['run'])) return;
        $this->script($handler, 'before');
        $handler['run'] = eval('return function ($payload, $job, $pawl) {' . $handler['body'] . "\n};");
    }

    // One line for the job; the whole story goes to its log.
    private function complaint(Throwable $error, string $where): string
    {
        fwrite(STDERR, "$error\n");
        $line = $error->getLine();
        return $where . get_class($error) . ': ' . $error->getMessage() . " (line $line)";
    }

    private function beginBatch(string $name): string
    {
        try {
            $this->prepare($name);
            $this->script($this->handlers[$name], 'beforeEach');
            return '';
        } catch (Throwable $error) {
            return $this->complaint($error, 'before the job: ');
        }
    }

    private function endBatch(string $name)
    {
        try {
            $this->script($this->handlers[$name], 'afterEach');
        } catch (Throwable $error) {
            $this->complaint($error, '');
        }
    }

    private function run(array $job, string $trouble): array
    {
        if ($trouble !== '') return [500, $trouble];
        $payload = $job['payload'] ?? base64_decode($job['payload_base64'] ?? '');
        try {
            $result = $this->handlers[$job['handler']]['run']($payload, $job, new Pawl());
            return [200, Pawl::bytes($result)];
        } catch (PawlOutcome $outcome) {
            return [$outcome->getCode(), $outcome->getMessage()];
        } catch (Throwable $error) {
            return [500, $this->complaint($error, '')];
        }
    }

    public function serve()
    {
        $batch = null;
        $trouble = '';
        $seen = '0 0';
        while (($line = fgets(STDIN)) !== false) {
            $job = json_decode($line, true);
            if (is_array($job['handler'])) {
                $this->handlers[$job['handler']['name']] = $job['handler'];
                continue;
            }
            Pawl::$current = $job['id'];
            if ($batch === null) {
                $batch = $job['handler'];
                $trouble = $this->beginBatch($batch);
            }
            [$code, $text] = $this->run($job, $trouble);
            if (!empty($job['last'])) {
                $this->endBatch($batch);
                $batch = null;
            }
            flush();
            $printed = fstat(STDOUT)['size'] . ' ' . fstat(STDERR)['size'];
            if ($printed !== $seen) {
                $seen = $printed;
                Pawl::write("O: {$job['id']} $printed\n");
            }
            Pawl::say("R: {$job['id']} $code ", $text);
        }
        if ($batch !== null) $this->endBatch($batch);
    }
}

ini_set('display_errors', 'stderr');
Pawl::$reply = fopen('php://fd/' . getenv('PAWL_REPLY_FD'), 'w');
(new PawlContext())->serve();

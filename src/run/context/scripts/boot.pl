# SPDX-License-Identifier: Apache-2.0
# The Perl side of a warm context: docs/reference/contexts.md says what it speaks.
package pawl;
use strict;
use warnings;
use POSIX ();

# Jobs are read from a copy: bodies and what they start see an empty standard input.
open(my $jobs, '<&', \*STDIN) or die "pawl: $!";
open(STDIN, '<', '/dev/null') or die "pawl: $!";
my $reply = $ENV{PAWL_REPLY_FD};
$| = 1;
my %handlers;
my $current = '';

sub write_all {
    my ($data) = @_;
    for (;;) {
        my $put = POSIX::write($reply, $data, length $data);
        die "pawl: cannot answer: $!" if !defined $put;
        return if $put == length $data;
        substr($data, 0, $put, '');
    }
}

# --- JSON: enough to read what pawl writes, and to write what a body returns -----------

my %plain = (b => "\b", f => "\f", n => "\n", r => "\r", t => "\t");

sub utf8_of { my $text = chr shift; utf8::encode($text); return $text }

sub unescape {
    my ($text) = @_;
    $text =~ s{\\(?:u[dD]([89abAB]..)\\u[dD]([c-fC-F]..)|u(....)|(.))}{
        defined $1 ? utf8_of(0x10000 + ((hex("d$1") - 0xd800) << 10) + hex("d$2") - 0xdc00)
        : defined $3 ? utf8_of(hex $3) : exists $plain{$4} ? $plain{$4} : $4 }gesx;
    return $text;
}

sub decode {    # a value off the front of $_[0], at pos
    for ($_[0]) {
        /\G\s*/gc;
        return unescape($1) if /\G"((?:[^"\\]++|\\.)*+)"/gcs;
        return $1 + 0 if /\G(-?\d[\d.eE+-]*)/gc;
        return 1 if /\Gtrue/gc;
        return 0 if /\Gfalse/gc;
        return undef if /\Gnull/gc;
        if (/\G\[/gc) {
            my @list;
            until (/\G\s*\]/gc) { push @list, decode($_); /\G\s*,/gc }
            return \@list;
        }
        if (/\G\{/gc) {
            my %hash;
            until (/\G\s*\}/gc) {
                my $key = decode($_);
                /\G\s*:/gc or die "pawl: not JSON\n";
                $hash{$key} = decode($_);
                /\G\s*,/gc;
            }
            return \%hash;
        }
        die "pawl: not JSON\n";
    }
}

# A job as most are, texts without escapes and whole numbers, in one go.
sub decode_job {
    my %job = $_[0] =~ /\G[{,]"(\w++)":(?|"([^"\\]*+)"|(-?\d++)(?=[,}]))/gc;
    my $plain = $_[0] =~ /\G(,"last":true)?\}\n?\z/gc;
    if (!$plain) {
        pos($_[0]) = 0;
        return decode($_[0]);
    }
    $job{last} = 1 if defined $1;
    return \%job;
}

sub quoted {
    my ($text) = @_;
    utf8::encode($text) if utf8::is_utf8($text);
    $text =~ s{(["\\])}{\\$1}g;
    $text =~ s{([\x00-\x1f])}{sprintf '\\u%04x', ord $1}ge;
    return "\"$text\"";
}

sub encode {
    my ($value) = @_;
    return 'null' if !defined $value;
    my $kind = ref $value;
    return '[' . join(',', map { encode($_) } @$value) . ']' if $kind eq 'ARRAY';
    return '{' . join(',', map { quoted($_) . ':' . encode($value->{$_}) } sort keys %$value) . '}'
        if $kind eq 'HASH';
    return $value if $value =~ /\A-?(?:0|[1-9]\d{0,14})(?:\.\d+)?\z/;
    return quoted("$value");
}

sub to_bytes {
    my ($value) = @_;
    return '' if !defined $value;
    $value = ref $value ? encode($value) : "$value";
    utf8::encode($value) if utf8::is_utf8($value);
    return $value;
}

# --- What a body can ask for --------------------------------------------------------------

sub retry { die { code => 100, text => to_bytes($_[0]) } }
sub fail  { die { code => 400, text => to_bytes($_[0]) } }

sub add {
    my ($type, $payload) = @_;
    die "pawl::add: \"$type\" is not the name of a type"
        unless $type =~ /\A[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}\z/;
    say_it("J: $current $type|", to_bytes($payload));
}

sub progress {
    my ($percent, $message) = @_;
    my $text = to_bytes($message);
    $text =~ tr/\n/ /;
    write_all(sprintf("P: %s %d %s\n", $current, $percent, $text));
}

# One line, or its head and a count where the text does not fit into a line.
sub say_it {
    my ($head, $text) = @_;
    if ($text =~ /\n|\A<</) { write_all("$head<<" . length($text) . "\n$text") }
    else { write_all("$head$text\n") }
}

# --- Jobs ---------------------------------------------------------------------------------

sub compiled {
    my ($name, $code) = @_;
    my $made = eval "package main; no strict; no warnings; $code";
    die $@ if $@;
    return $made;
}

sub script {
    my ($handler, $part) = @_;
    return if !defined $handler->{$part} || $handler->{$part} eq '';
    compiled($handler->{name}, "\n#line 1 \"$handler->{name} $part\"\n$handler->{$part}\n;1");
}

# Once in a context; again with the next batch if it failed.
sub prepare {
    my ($handler) = @_;
    return if $handler->{run};
    script($handler, 'before');
    $handler->{run} = compiled($handler->{name},
        "sub { my (\$payload, \$job) = \@_;\n#line 1 \"$handler->{name}\"\n$handler->{body}\n}");
}

# One line for the job; the whole story goes to its log.
sub complaint {
    my ($error, $where) = @_;
    my $text = to_bytes($error);
    $text =~ s/, <\$jobs> (?:line|chunk) \d+\././; # how far we have read is no news
    print STDERR $text =~ /\n\z/ ? $text : "$text\n";
    $text =~ s/\n.*//s;
    return "$where$text";
}

sub begin_batch {
    my ($handler) = @_;
    return '' if eval { prepare($handler); script($handler, 'beforeEach'); 1 };
    return complaint($@, 'before the job: ');
}

sub end_batch {
    my ($handler) = @_;
    eval { script($handler, 'afterEach'); 1 } or complaint($@, '');
}

sub run {
    my ($handler, $job, $trouble) = @_;
    return (500, $trouble) if $trouble ne '';
    my $payload = $job->{payload};
    if (!defined $payload) {
        require MIME::Base64;
        $payload = MIME::Base64::decode_base64(defined $job->{payload_base64} ? $job->{payload_base64} : '');
    }
    my $result = eval { [200, to_bytes(scalar $handler->{run}->($payload, $job))] };
    return @$result if $result;
    my $error = $@;
    return ($error->{code}, $error->{text}) if ref $error eq 'HASH' && exists $error->{code};
    return (500, complaint($error, ''));
}

my ($seen, $batch, $trouble) = ('0 0', undef, '');
while (my $line = <$jobs>) {
    my $job = decode_job($line);
    if (ref $job->{handler}) {
        $handlers{ $job->{handler}{name} } = $job->{handler};
        next;
    }
    $current = $job->{id}; # the body may do with its job what it likes
    my $last = $job->{last};
    if (!$batch) {
        $batch = $handlers{ $job->{handler} };
        $trouble = begin_batch($batch);
    }
    my ($code, $text) = run($batch, $job, $trouble);
    if ($last) {
        end_batch($batch);
        undef $batch;
    }
    STDOUT->flush();
    my $printed = (-s STDOUT || 0) . ' ' . (-s STDERR || 0);
    if ($printed ne $seen) {
        $seen = $printed;
        write_all("O: $current $printed\n");
    }
    say_it("R: $current $code ", $text);
}
end_batch($batch) if $batch;

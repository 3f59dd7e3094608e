# peer.rb - a thread that ticks every millisecond beside others that compute: peer.rb preempt WORKERS RUNS N. Threads, because Ruby's
# fibers neither wait nor are preempted by themselves; one of them runs at a time, however many workers there may be.

# A hog's round takes 0.5 to 5 ms.
HOGS = {
  "recursion" => -> { fib(20) },
  "loop" => lambda {
    x = 1
    i = 0
    while i < 100_000
      x = (x * 1103515245 + 12345) & 0x7fffffff
      i += 1
    end
  }
}.freeze

def fib(n) = n < 2 ? 1 : fib(n - 1) + fib(n - 2)

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# The block's value, beside k hogs, which stop when it ends or after so many seconds.
def beside(k, round, most)
  over = false
  hogs = Array.new(k) do
    Thread.new do
      end_of_time = now + most
      round.call until over || now >= end_of_time
    end
  end
  result = yield
  over = true
  hogs.each(&:join)
  result
end

# The median, the 90th and 99th percentile and the largest of n ticks, in microseconds.
def lateness(n)
  from = now
  late = (1..n).map do |i|
    due = from + i / 1000.0
    sleep([due - now, 0].max)
    (now - due) * 1e6
  end.sort
  [late[n / 2], late[n * 9 / 10], late[n * 99 / 100], late[-1]]
end

def two_sleep(seconds)
  from = now
  Array.new(2) { Thread.new { sleep(seconds) } }.each(&:join)
  (now - from) * 1e3
end

# Calls the block to warm up and then for each run; without runs, a single time.
def measure(runs, labels)
  yield if runs > 0
  figures = Array.new([runs, 1].max) { yield }
  labels.each_with_index { |label, i| puts "#{label} #{figures.map { |f| f[i] }.join(' ')}" }
end

bench, workers, runs, n = ARGV
abort "ruby peer: usage: peer.rb preempt WORKERS RUNS N" unless bench == "preempt" && ARGV.size == 4
workers, runs, n = [workers, runs, n].map { |text| Integer(text, 10) }

measure(runs, ["sleepers-beside-fib #{n} ms"]) { [beside(workers, HOGS["recursion"], 3 * n / 1000.0) { two_sleep(n / 1000.0) }] }
HOGS.each do |name, round|
  [1, 4, 16].each do |k|
    labels = %w[p50 p90 p99 max].map { |figure| "#{name}-#{k}/#{figure} #{n} us" }
    measure(runs, labels) { beside(k, round, n / 1000.0) { lateness(n) } }
  end
end

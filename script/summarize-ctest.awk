# Reads CTest's LastTest.log and writes a line a test: passed|failed|skipped, tab, name, tab, reason.
#
# The reason of a skipped test is the last line of its output that speaks of skipping, else its last line. Skips inside
# a test that passed as a whole are found too, in the two forms of Node's test runner: TAP (ok 3 - name # SKIP reason)
# and spec (﹣ name (0.1ms) # reason).

function emit(kind, name, reason) { printf "%s\t%s\t%s\n", kind, name, reason }

# The first line of a test's part: "3/7 Test: name".
/^[0-9]+\/[0-9]+ Test: / {
  name = $0
  sub(/^[0-9]+\/[0-9]+ Test: /, "", name)
  inside = 0
  last = speaks = ""
  next
}
/^-----+$/ && awaiting { inside = 1; awaiting = 0; next }
/^Output:$/ && !inside { awaiting = 1; next }
/^<end of output>$/ { inside = 0; next }

inside {
  line = $0
  gsub(/^[ \t]+|[ \t\r]+$/, "", line)
  if (line == "") next
  last = line
  if (tolower(line) ~ /skip/ && line !~ /^(#|ℹ) ?skipped/) speaks = line
  if (line ~ /^ok [0-9]+ .*# SKIP/) {
    part = reason = line
    sub(/^ok [0-9]+ (- )?/, "", part)
    sub(/ *# SKIP.*/, "", part)
    sub(/.*# SKIP */, "", reason)
    emit("skipped", name " / " part, reason)
  } else if (line ~ /^﹣ .*# /) {
    part = reason = line
    sub(/^﹣ /, "", part)
    sub(/( \([0-9.]+ms\))? # .*/, "", part)
    sub(/.* # /, "", reason)
    emit("skipped", name " / " part, reason == "SKIP" ? "" : reason)
  }
  next
}

/^Test Passed\.$/ { emit("passed", name, "") }
/^Test Skipped\.$/ { emit("skipped", name, speaks != "" ? speaks : last) }
/^Test (Failed|Timeout|Not Run)/ { emit("failed", name, "") }

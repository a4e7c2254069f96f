# Reads the JUnit file that CTest writes and prints a line a test: passed|failed|skipped, tab, name, tab, reason.
#
# The reason of a skipped test is the line "SKIP: why" of its output, else its last line. Skips inside a test that passed as a
# whole are found too, in the two forms of Node's test runner: TAP (ok 3 - name # SKIP reason) and spec
# (﹣ name (0.1ms) # reason).

function emit(kind, name, reason) { printf "%s\t%s\t%s\n", kind, plain(name), plain(reason) }

function plain(text) {
  gsub(/&lt;/, "<", text)
  gsub(/&gt;/, ">", text)
  gsub(/&quot;/, "\"", text)
  gsub(/&apos;/, "'", text)
  gsub(/&amp;/, "\\&", text)
  return text
}

function attribute(line, key) {
  if (!match(line, " " key "=\"[^\"]*\"")) return ""
  return substr(line, RSTART + length(key) + 3, RLENGTH - length(key) - 4)
}

function trimmed(text) {
  gsub(/^[ \t]+|[ \t\r]+$/, "", text)
  return text
}

/<testcase / {
  name = attribute($0, "name")
  status = attribute($0, "status")
  message = last = why = ""
  next
}
/<skipped / { message = attribute($0, "message"); next }
/<\/testcase>/ {
  if (status == "run") emit("passed", name, "")
  else if (status == "disabled") emit("skipped", name, "disabled in CMakeLists.txt")
  else if (status == "notrun" && message ~ /^SKIP_/) emit("skipped", name, why != "" ? why : last)
  else emit("failed", name, "")
  next
}

{
  line = $0
  sub(/^[ \t]*<system-out>/, "", line)
  sub(/<\/system-out>$/, "", line)
  line = trimmed(line)
  if (line == "") next
  last = line
  if (line ~ /^SKIP: /) why = substr(line, 7)
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
}

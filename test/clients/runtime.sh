# One exchange of the contract's HTTP protocol for runtimes, on stdin and stdout: GET / is health, POST /execute runs a
# command. Enough for busybox and for one-line commands without backslashes; no runtime for real use.
cr=$(printf '\r')
read -r method path _
length=0
while read -r line; do
  line=${line%"$cr"}
  case $line in
    '') break ;;
    [Cc]ontent-[Ll]ength:*) length=$((${line#*:})) ;;
  esac
done
answer() { # answer STATUS BODY
  printf 'HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' "$1" ${#2} "$2"
}
quoted() { # the file's text as a JSON string
  sed 's/[\\"]/\\&/g' "$1" | awk 'BEGIN { printf "\"" } { printf "%s\\n", $0 } END { printf "\"" }'
}
case "$method $path" in
  'GET /') answer '200 OK' '{"status":"ok"}' ;;
  'POST /execute')
    command=$(head -c "$length" | sed 's/.*"command": *"//; s/"[,}].*//; s/\\"/"/g')
    out=$(mktemp)
    err=$(mktemp)
    sh -c "$command" >"$out" 2>"$err"
    code=$?
    answer '200 OK' "{\"stdout\":$(quoted "$out"),\"stderr\":$(quoted "$err"),\"exit_code\":$code}"
    ;;
  *) answer '404 Not Found' '{}' ;;
esac

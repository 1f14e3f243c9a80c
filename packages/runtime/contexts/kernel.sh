if [[ ${BASH_SOURCE[1]+x} ]]; then eval "$__hookbox_code"; return; fi
# Runs bash code piece by piece in one shell, which keeps its variables, functions and folder.
#
# Requests arrive on descriptor 3: a number of variables, these variables as NAME=value, and the code, each with a zero byte
# at its end. Events go to descriptor 4, as in kernel.py:
# {"ready"}, {"begun"} when the code can be interrupted, and {"done", "error"}. The code writes to descriptors 1 and 2.
# For each run, this file reads itself by `source`: an interrupt can return from there as from a function, but `declare` has
# no local variables. It is line 1 that runs the code, because bash counts the lines of the code from there.

# Code often uses descriptor 3 or 4 itself.
exec 200<&3- 201>&4-
__hookbox_in=$(readlink /proc/$$/fd/200) __hookbox_out=$(readlink /proc/$$/fd/201)

__hookbox_end() {
  local error=null
  if [[ $__hookbox_stopped ]]; then
    error='{"name":"Interrupted","value":"","traceback":"Interrupted"}'
  elif (($1)); then
    error='{"name":"ExitCode","value":"'$1'","traceback":""}'
  fi
  printf '{"done":true,"error":%s}\n' "$error" >&201
}

# Sets a variable for one run, and keeps what gives it back its previous value.
__hookbox_lend() {
  local name=${1%%=*} before=
  [[ ! ${!name+x} ]] || before=${!name@A}
  __hookbox_lent+=("unset -v $name || :; ${before/#declare /declare -g }")
  export "$1" || :
}
__hookbox_return_lent() {
  local before
  for before in "${__hookbox_lent[@]}"; do eval "$before"; done
  __hookbox_lent=()
}

# After an interrupt, a shell continues with the next command. In the mode extdebug, a DEBUG trap with the status 2 makes
# the running function return. So all functions of the code return, and at last `source`.
__hookbox_stop() {
  __hookbox_stopped=1
  shopt -s extdebug
  trap '[[ ! ${BASH_SOURCE[1]+x} ]] || __hookbox_return' DEBUG
}
__hookbox_return() { return 2; }

# `exit` ends a shell, and so does a failed command after `set -e`. A new shell then replaces this one, and takes over what
# the code has set.
__hookbox_exit() {
  # In the midst of code, 200 and 201 are closed. bash has copies, to open them again.
  for __hookbox_fd in /proc/$$/fd/*; do
    case $(readlink "$__hookbox_fd") in
      "$__hookbox_in") __hookbox_in=${__hookbox_fd##*/} ;;
      "$__hookbox_out") __hookbox_out=${__hookbox_fd##*/} ;;
    esac
  done
  export __hookbox_status
  # From now on, an interrupt would end the new shell.
  printf '{"begun":false}\n' >&"$__hookbox_out"
  exec 5< <(__hookbox_state)
  # The copies are closed on exec, and so are their copies, except for 0 and 1.
  exec 6<&0 7>&1 0<&"$__hookbox_in" 1>&"$__hookbox_out"
  trap : INT
  exec "$BASH" --noprofile --norc "$0" 3<&0 4>&1 0<&6- 1>&7-
}
__hookbox_state() {
  unset __hookbox_code __hookbox_in __hookbox_out
  unset -f $(compgen -A function __hookbox_)
  declare -p
  declare -f
  alias -p
  shopt -p | grep -v extdebug
  set +o
}

shopt -s expand_aliases
trap : INT
if [[ ${__hookbox_status-} ]]; then
  source /dev/fd/5 2>/dev/null
  exec 5<&-
  export -n __hookbox_status
  __hookbox_return_lent 2>/dev/null
  __hookbox_end "$__hookbox_status"
else
  printf '{"ready":true}\n' >&201
fi
trap '__hookbox_status=$?; trap - DEBUG; trap "" INT; set +o functrace +o errtrace; __hookbox_exit' EXIT
while IFS= read -r -d '' -u 200 __hookbox_count; do
  __hookbox_lent=()
  while ((__hookbox_count-- > 0)); do
    IFS= read -r -d '' -u 200 __hookbox_code
    __hookbox_lend "$__hookbox_code" 2>/dev/null
  done
  IFS= read -r -d '' -u 200 __hookbox_code
  __hookbox_stopped=
  trap __hookbox_stop INT
  printf '{"begun":true}\n' >&201
  source "$0" 200<&- 201>&-
  __hookbox_status=$?
  trap : INT
  if [[ $__hookbox_stopped ]]; then
    trap - DEBUG
    shopt -u extdebug
    set +o functrace +o errtrace
  fi
  __hookbox_return_lent 2>/dev/null
  __hookbox_end "$__hookbox_status"
done
trap - EXIT

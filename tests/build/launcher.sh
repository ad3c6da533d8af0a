#!/usr/bin/env bash
# Tests what the launcher does about missing packages, for root and for other users, with and without a terminal, and
# that it works in a path with spaces, from another folder and through a symlink. Nothing is installed or built: id,
# sudo, apt-get, dpkg-query and cmake are stand-ins that write their arguments to $log. PATH contains only these and
# links to a few programs of the system, so that a real sudo is never found.
set -uo pipefail
root=${VANTAGE_ROOT:?}
unset "${!VANTAGE_@}"  # VANTAGE_WERROR, for example, changes how CMake is called
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export stand_ins=$scratch/stand-ins log=$scratch/log installed=$scratch/installed
clone="$scratch/a clone/with spaces"
failures=0 cases=0 shown=""

fail() {
    printf 'FAILED: %s: %s\n' "$case" "$1"
    if [[ $shown != "$case" ]]; then sed 's/^/    | /' "$scratch/out" "$scratch/err" "$log"; fi
    shown=$case  # what was printed and called, once a case
    failures=$((failures + 1))
}

# ---- stand-ins ------------------------------------------------------------------------------------------------------

mkdir -p "$stand_ins" "$scratch/system" "$clone/cmake" "$clone/.deps/usr/bin"
for tool in bash cat chmod dirname env flock grep mkdir nproc paste readlink rm script sed sh timeout touch \
    tput true; do
    if path=$(type -P "$tool"); then ln -s "$path" "$scratch/system/$tool"; fi
done
# stand_in FILE: a script that first writes its name and arguments to the log, then does what stdin says.
stand_in() {
    { printf '#!/usr/bin/env bash\nprintf "%%s\\n" "%s $*" >>"$log"\n' "${1##*/}" && cat; } >"$1"
    chmod +x "$1"
}
printf '#!/usr/bin/env bash\nprintf "%%s\\n" "${USER_ID:?}"\n' >"$stand_ins/id"
chmod +x "$stand_ins/id"
# SUDO=free: no password is needed. SUDO=password: one is, so -n fails. The command then runs as root, without -n.
stand_in "$scratch/sudo" <<'END'
if [[ $1 == -n ]]; then
    if [[ ${SUDO:?} == password ]]; then echo "sudo: a password is required" >&2; exit 1; fi
    shift
fi
USER_ID=0 exec "$@"
END
stand_in "$stand_ins/apt-get" <<'END'
if [[ $(id) != 0 ]]; then echo "apt-get: are you root?" >&2; exit 100; fi
if [[ " $* " == *" install "* ]]; then printf '%s\n' "$@" >>"$installed"; fi
END
# Prints the packages among its arguments that are installed, as dpkg-query does with the format of the launcher.
stand_in "$stand_ins/dpkg-query" <<'END'
have=$'\n'$(<"$installed")$'\n'
for package in "$@"; do
    if [[ $have == *$'\n'"$package"$'\n'* ]]; then printf '%s installed\n' "$package"; fi
done
END
# Writes the files that the launcher looks for. The program that it makes prints its working folder and its arguments.
stand_in "$stand_ins/cmake" <<'END'
case $1 in
    --preset)
        mkdir -p build/release
        printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\n' "$PWD" >build/release/CMakeCache.txt
        touch build/release/build.ninja ;;
    --build)
        if [[ ${BUILD_FAILS:-0} == 1 ]]; then echo "error: made up"; exit 1; fi
        printf '#!/usr/bin/env bash\nprintf "ran in %%s:" "$PWD"\nprintf " <%%s>" "$@"\n' >"$2/vantage"
        chmod +x "$2/vantage" ;;
esac
END
cp "$root/vantage" "$root/CMakePresets.json" "$clone/"
# On Debian 12 the launcher asks this script what is missing in .deps/usr: nothing.
printf '#!/usr/bin/env bash\n' >"$clone/cmake/newer-toolchain.sh"
chmod +x "$clone/cmake/newer-toolchain.sh"
: >"$clone/.deps/usr/bin/glslang"

# ---- how the launcher is called -------------------------------------------------------------------------------------

# begin CASE USER_ID [SUDO]: a fresh clone and a system without packages. SUDO is free, password or none.
begin() {
    case=$1
    export USER_ID=$2 SUDO=${3:-none}
    cases=$((cases + 1))
    rm -rf "$clone/build"
    : >"$log"
    : >"$installed"
    : >"$scratch/out"
    : >"$scratch/err"
    rm -f "$stand_ins/sudo"
    if [[ $SUDO != none ]]; then ln -s "$scratch/sudo" "$stand_ins/sudo"; fi
    launcher=$clone/vantage folder=$scratch redirect=""
}
restricted() { (cd -- "$folder" && PATH=$stand_ins:$scratch/system "$@"); }
# without_terminal ARGUMENT…: sets `code`; what is printed goes to out and err.
without_terminal() {
    code=0
    restricted "$launcher" "$@" </dev/null >"$scratch/out" 2>"$scratch/err" || code=$?
}
# on_terminal INPUT ARGUMENT…: the same on a terminal, where INPUT is typed; what is printed goes to out.
on_terminal() {
    local input=$1 line typed
    shift
    # A pipe that is open for writing as well never ends. At the end of its input script would wait for two seconds.
    rm -f "$scratch/typed"
    mkfifo "$scratch/typed"
    exec {typed}<>"$scratch/typed"
    printf -v line '%q ' "$launcher" "$@"
    code=0
    printf '%s' "$input" >&"$typed"
    if [[ ${interrupted:-0} == 1 ]]; then  # Ctrl-C has an effect only once the question is there
        for ((i = 0; i < 6000; ++i)); do
            if grep -qF "[Y/n]" "$scratch/out"; then break; fi
            sleep 0.05
        done && printf '\x03' >&"$typed" &
    fi
    SHELL=$BASH restricted timeout 300 script -qefc "$line$redirect" /dev/null <&"$typed" >"$scratch/out" 2>&1 || code=$?
    exec {typed}>&-
}

# ---- what is expected -----------------------------------------------------------------------------------------------

ends_with() { if ((code != $1)); then fail "wanted exit code $1, got $code"; fi; }
says() { grep -qF -- "$1" "$scratch/out" "$scratch/err" || fail "does not say \"$1\""; }
says_not() { if grep -qF -- "$1" "$scratch/out" "$scratch/err"; then fail "says \"$1\""; fi; }
calls() { grep -qE -- "$1" "$log" || fail "does not call \"$1\""; }
calls_not() { if grep -qE -- "$1" "$log"; then fail "calls \"$1\""; fi; }
# The launcher installed what was missing, built, and ran the program.
installed_and_ran() {
    ends_with 0
    says "installing g++ cmake"
    calls '^apt-get .*update$'
    calls '^apt-get .*install g\+\+ cmake .*libimgui-dev'
    calls '^cmake --preset release$'
    calls '^cmake --build .* --target vantage_cli$'
    says "ran in "
}
# The launcher listed what is missing, said what to do, and did nothing.
refused() {
    ends_with 2
    says "missing packages: g++ cmake"
    says "as root, run: apt-get install --no-install-recommends g++ cmake"
    says "nothing was installed: $1"
    calls_not '^(apt-get|cmake)'
    says_not "ran in "
}
question="install them with sudo apt-get? [Y/n]"

# ---- who may install ------------------------------------------------------------------------------------------------

begin "root, no terminal" 0
without_terminal demo
installed_and_ran
says_not "$question"

begin "root, no terminal, the packages are installed" 0
without_terminal demo
: >"$log"
without_terminal demo
ends_with 0
calls_not '^(apt-get|sudo|dpkg-query|cmake --preset)'
says "ran in "

begin "root, terminal" 0 password
on_terminal "" demo
installed_and_ran
says_not "$question"
calls_not '^sudo'

begin "root, --no-install" 0
without_terminal --no-install demo
refused "--no-install was given"

begin "terminal, yes" 1000 password
on_terminal $'y\n' demo
installed_and_ran
says "missing packages: g++ cmake"
says "$question"
if (($(grep -cF "$question" "$scratch/out") != 1)); then fail "asks more than once"; fi
calls '^sudo env .*apt-get .*install g\+\+'

begin "terminal, Enter" 1000 password
on_terminal $'\n' demo
installed_and_ran
says "$question"

for answer in $'n\n' $'no\n' $'what?\n' $'\x04'; do
    begin "terminal, answer $(printf %q "$answer")" 1000 password
    on_terminal "$answer" demo
    says "$question"
    refused "you answered no"
    calls_not '^sudo'
done

begin "terminal, Ctrl-C" 1000 password
interrupted=1 on_terminal "" demo
ends_with 130
says "$question"
calls_not '^(sudo|apt-get|cmake)'

begin "terminal, --install" 1000 password
on_terminal "" --install demo
installed_and_ran
says_not "$question"

begin "terminal, --install after the subcommand" 1000 password
on_terminal "" demo --install
installed_and_ran
says_not "$question"
says_not "<--install>"

begin "terminal, --no-install" 1000 free
on_terminal $'y\n' --no-install demo
refused "--no-install was given"
says_not "$question"
calls_not '^sudo'

begin "terminal, no sudo" 1000 none
on_terminal $'y\n' demo
refused "you are not root, and sudo is not available"
says_not "$question"

begin "stdin is a terminal, stderr is not" 1000 password
redirect=" 2>$(printf %q "$scratch/err")"
on_terminal $'y\n' demo
refused "sudo needs a password"
says_not "$question"

begin "no terminal, sudo without a password" 1000 free
without_terminal demo
installed_and_ran
says_not "$question"
calls '^sudo -n true$'
calls '^sudo -n env .*apt-get .*install g\+\+'

begin "no terminal, sudo with a password" 1000 password
without_terminal demo
refused "sudo needs a password, and there is no terminal to enter it"
says_not "$question"

begin "no terminal, sudo with a password, --install" 1000 password
without_terminal --install demo
refused "sudo needs a password, and there is no terminal to enter it"

begin "no terminal, no sudo" 1000 none
without_terminal demo
refused "you are not root, and sudo is not available"

begin "no terminal, no sudo, --install" 1000 none
without_terminal --install demo
refused "you are not root, and sudo is not available"

begin "the packages for the tests" 1000 none
without_terminal test
refused "you are not root, and sudo is not available"
says "xvfb"

begin "a failed build" 0
BUILD_FAILS=1 without_terminal demo
ends_with 1
says "error: made up"
says "the build failed; see above"
says_not "ran in "

# ---- where it is called from ----------------------------------------------------------------------------------------

mkdir -p "$scratch/other folder/models"
ln -s "$clone/vantage" "$scratch/other folder/link to it"
ln -s "link to it" "$scratch/other folder/second"
ln -s "$clone" "$scratch/linked clone"

# in_other_folder: with paths relative to that folder, which the program gets unchanged.
in_other_folder() {
    folder="$scratch/other folder"
    without_terminal inspect -m "models/my model" -o "pictures/out put" -p ""
    installed_and_ran
    says "ran in $folder: <inspect> <-m> <models/my model> <-o> <pictures/out put> <-p> <>"
    calls "^cmake --build $clone/build/release "
    if [[ -e $folder/build ]]; then fail "builds in the folder of the caller"; fi
}

begin "its own folder, a path with spaces" 0
folder=$clone launcher=./vantage
without_terminal demo
installed_and_ran
says "ran in $clone: <demo>"

begin "another folder, absolute path" 0
in_other_folder

begin "another folder, relative path" 0
launcher="../a clone/with spaces/vantage"
in_other_folder

begin "a symlink" 0
launcher="./link to it"
in_other_folder

begin "a symlink to a symlink" 0
launcher=./second
in_other_folder

begin "a clone that is reached through a symlink" 0
launcher="$scratch/linked clone/vantage"
in_other_folder

begin "a symlink on PATH" 0
stand_ins="$scratch/other folder:$stand_ins" launcher="link to it" in_other_folder

begin "a tree that was moved is configured again" 0
mkdir -p "$clone/build/release"
printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\n' "$scratch/elsewhere" >"$clone/build/release/CMakeCache.txt"
touch "$clone/build/release/build.ninja"
without_terminal demo
installed_and_ran

begin "options after -- are the program's" 0
without_terminal demo -- --no-install
installed_and_ran
says "<demo> <--> <--no-install>"

begin "help" 1000 none
without_terminal --help
ends_with 0
says "--no-install"
says "--install"
calls_not .

if ((failures)); then exit 1; fi
echo "$cases cases"

# SPDX-License-Identifier: LGPL-2.1-or-later
# bash completion of localiofs, mount.localiofs, localioctl, localiofs-sidecar and localiofs-mounter, by the functions of
# bash-completion. All switches, options, values and commands come from the programs' own --help, so no list here can be
# out of date.

# The usage of a program. By its name alone, since a completion must not run a file of the working directory.
_localiofs_help() { # PROGRAM
    PATH=$PATH:/usr/sbin:/sbin command "$1" --help 2>/dev/null
}

# The mount options, as NAME or NAME=FORM.
_localiofs_options() {
    _localiofs_help localiofs | sed -n -e '1,/^options:/d' -e '/^  accepted/q' \
        -e 's/^  \([a-z_0-9]*\(=[^ ]*\)\{0,1\}\) .*/\1/p'
}

# Those of them that localioctl set changes.
_localiofs_live() {
    local names
    names=$(_localiofs_help localiofs | sed -n 's/^  accepted without unmounting, by localioctl set: //p')
    _localiofs_options | grep -E "^(${names// /|})(=|$)"
}

# The long switches of a program, as --NAME or --NAME=FORM.
_localiofs_switches() { # PROGRAM
    _localiofs_help "$1" | sed -n 's/^ *\(-[a-zA-Z], \)\{0,1\}\(--[a-z][a-z-]*\(=[^ ]*\)\{0,1\}\)  .*/\2/p'
    printf '%s\n' --help --version
}

# The usage of a command of localioctl, from the words behind it on.
_localiofs_command() { # COMMAND
    _localiofs_help localioctl | sed -n "s/^.* localioctl $1 //p"
}

# The mount points. The mounts themselves are not asked: one could hang.
_localiofs_mounts() {
    local source directory type rest
    while read -r source directory type rest; do
        [[ $type != fuse.localiofs ]] || printf '%b\n' "${directory//\\/\\0}"
    done </proc/self/mounts
}

# The exports that fstab mounts.
_localiofs_sources() {
    awk '$3 ~ /^(fuse\.)?localiofs$|^nfs4?$/ { print $1 }' /etc/fstab 2>/dev/null
}

# Offers the lines of stdin, with a prefix before each, that begin with cur; without the part up to the last = or :, which
# stays on the command line (COMP_WORDBREAKS).
_localiofs_offer() { # [PREFIX]
    local line
    while IFS= read -r line; do
        line=$1$line
        # %q would quote commas, too.
        [[ $line != *[^-A-Za-z0-9_/.,:=@%+]* ]] || line=$(printf %q "$line")
        [[ $line != "$cur"* ]] || COMPREPLY+=("${line#"${cur%"${cur##*[=:]}"}"}")
    done
}

# Offers the values of a form: words with | between them are the values; DIR, FILE and PATH are names of files.
_localiofs_values() { # FORM PREFIX, where cur is the prefix and the begin of a value
    case $1 in
        DIR | FILE | PATH)
            compopt -o nospace
            _localiofs_offer "$2" < <(compgen -f -- "${cur#"$2"}")
            ;;
        *[A-Z]*) ;;
        *) _localiofs_offer "$2" < <(printf '%s\n' "${1//|/$'\n'}") ;;
    esac
}

# Offers names of NAME=FORM lines on stdin, or the values of the name that cur has behind the prefix.
_localiofs_named() { # PREFIX
    local line rest=${cur#"$1"} found=
    while IFS= read -r line; do
        if [[ $rest != *=* ]]; then
            [[ $line != *=* ]] || line=${line%%=*}=
            _localiofs_offer "$1" <<<"$line"
        elif [[ $line == "${rest%%=*}="* && ! $found ]]; then
            found=1
            _localiofs_values "${line#*=}" "$1${rest%%=*}="
        fi
    done
    [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
}

# Offers mount options at the end of a list with commas.
_localiofs_list() {
    compopt -o nospace
    _localiofs_named "${cur%"${cur##*,}"}" < <(_localiofs_options)
}

_localioctl() {
    local i command= nth=0 usage
    for ((i = 1; i < cword; i++)); do
        case ${words[i]} in
            -o | --interval | --count | --control) ((i++)) ;;
            -*) ;;
            *) if [[ $command ]]; then ((++nth)); else command=${words[i]}; fi ;;
        esac
    done
    if [[ ! $command ]]; then
        _localiofs_offer < <(_localiofs_help localioctl | sed -n 's/^  \([a-z][a-z]*\)  *[A-Z].*/\1/p')
        [[ $cur != -* ]] || _localiofs_offer < <(printf '%s\n' --help --version)
        return
    fi
    usage=$(_localiofs_command "$command")
    case $prev in
        -o) _localiofs_list ;;
        --control) _localiofs_values PATH ;;
        --interval | --count) ;;
        *)
            if [[ $cur == -* ]]; then
                _localiofs_offer < <(grep -Eo -e '--?[a-z]+' <<<"$usage")
            elif [[ $usage == *OPTION[=[]* && $nth -gt 0 ]]; then
                _localiofs_named '' < <(_localiofs_live)
            else
                [[ $usage != *MOUNTPOINT* ]] || _localiofs_offer < <(_localiofs_mounts)
                [[ $usage != *FILE* ]] || _localiofs_offer < <(compgen -f -- "$cur")
                [[ $usage != *SERVER:* ]] || _localiofs_offer < <(_localiofs_sources)
            fi
            ;;
    esac
}

_localiofs() {
    local cur prev words cword program i nth=0
    _get_comp_words_by_ref -n =: cur prev words cword
    program=${words[0]##*/}
    if [[ $program == localioctl ]]; then
        _localioctl
        return
    fi
    if [[ $prev == -o && $program != localiofs-sidecar ]]; then
        _localiofs_list
        return
    fi
    if [[ $cur == -* ]]; then
        if [[ $program == mount.localiofs ]]; then
            _localiofs_offer < <(printf '%s\n' -o -s -f -n -v --help --version)
        else
            [[ $program == localiofs-sidecar ]] || _localiofs_offer <<<-o
            _localiofs_named '' < <(_localiofs_switches "$program" | sort -u)
        fi
        return
    fi
    for ((i = 1; i < cword; i++)); do
        case ${words[i]} in
            -o) ((i++)) ;;
            -*) ;;
            *) ((++nth)) ;;
        esac
    done
    case $program:$nth in
        localiofs-sidecar:*) ;;
        *:0) _localiofs_offer < <(_localiofs_sources) ;;
        *:1)
            compopt -o filenames
            while IFS= read -r i; do COMPREPLY+=("$i"); done < <(compgen -d -- "$cur")
            ;;
    esac
}

complete -F _localiofs localiofs mount.localiofs localioctl localiofs-sidecar localiofs-mounter

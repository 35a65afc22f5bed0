# SPDX-License-Identifier: LGPL-2.1-or-later
# fish completion of localiofs, mount.localiofs, localioctl, localiofs-sidecar and localiofs-mounter. All switches, options,
# values and commands come from the programs' own --help, so no list here can be out of date.

# The usage of a program. By its name alone, since a completion must not run a file of the working directory.
function __localiofs_help --argument-names program
    set --local --export PATH $PATH /usr/sbin /sbin
    command $program --help 2>/dev/null
end

# The mount options, as NAME or NAME=FORM, a tab, and the meaning.
function __localiofs_options
    __localiofs_help localiofs | sed -n -e '1,/^options:/d' -e '/^  accepted/q' \
        -e 's/^  \([a-z_0-9]*\(=[^ ]*\)\{0,1\}\)  *\(.*\)/\1\t\3/p'
end

# The long switches of a program, likewise.
function __localiofs_switches --argument-names program
    __localiofs_help $program | sed -n 's/^ *\(-[a-zA-Z], \)\{0,1\}\(--[a-z][a-z-]*\(=[^ ]*\)\{0,1\}\)  *\(.*\)/\2\t\4/p'
end

function __localiofs_commands
    __localiofs_help localioctl | sed -n 's/^  \([a-z][a-z]*\)  *\([A-Z].*\)/\1\t\2/p'
end

# The words of the command line that are neither switches nor their values.
function __localiofs_words
    set --local skip 0
    for word in (commandline --tokenize --cut-at-cursor --current-process)[2..-1]
        if test $skip = 1
            set skip 0
        else if contains -- $word -o --interval --count --control
            set skip 1
        else if not string match --quiet -- '-*' $word
            echo $word
        end
    end
end

# True if this number of such words is on the command line.
function __localiofs_nth --argument-names number
    test (count (__localiofs_words)) = $number
end

# The usage of the command of localioctl on the command line, from the words behind it on.
function __localiofs_usage
    set --local words (__localiofs_words)
    __localiofs_help localioctl | sed -n "s/^.* localioctl $words[1] //p"
end

# True if this usage has words that the pattern matches.
function __localiofs_wants --argument-names words
    set --local usage (__localiofs_usage)
    test (count (__localiofs_words)) -gt 0; and string match --quiet --regex -- "$words" "$usage"
end

# The mount points. The mounts themselves are not asked: one could hang.
function __localiofs_mounts
    while read --local --delimiter ' ' source directory type rest
        test "$type" = fuse.localiofs; and printf '%b\tmount point\n' (string replace --all '\\' '\\0' -- $directory)
    end </proc/self/mounts
end

# The exports that fstab mounts.
function __localiofs_sources
    awk '$3 ~ /^(fuse\.)?localiofs$|^nfs4?$/ { print $1 "\tin fstab" }' /etc/fstab 2>/dev/null
end

# Names of NAME=FORM lines on stdin behind a prefix, or the values of the name that stands behind the prefix: words with |
# between them are the values; DIR, FILE and PATH are names of files.
function __localiofs_named --argument-names prefix rest
    set --local name (string split --max 1 = -- $rest)[1]
    while read --local --delimiter \t form meaning
        set --local parts (string split --max 1 = -- $form)
        if not string match --quiet -- '*=*' $rest
            test (count $parts) = 2; and set parts[1] $parts[1]=
            printf '%s\t%s\n' $prefix$parts[1] $meaning
        else if test $parts[1] = $name
            switch $parts[2]
                case DIR FILE PATH
                    for path in (__fish_complete_path (string split --max 1 = -- $rest)[2])
                        echo $prefix$name=$path
                    end
                case '*[A-Z]*'
                case '*'
                    string match --quiet --regex '[A-Z]' -- $parts[2]
                    or printf '%s\n' $prefix$name=(string split '|' -- $parts[2])
            end
            return
        end
    end
end

# Mount options at the end of a list with commas.
function __localiofs_list
    set --local token (commandline --current-token)
    set --local rest (string replace --regex '^.*,' '' -- $token)
    __localiofs_options | __localiofs_named (string sub --length (math (string length -- $token) - (string length -- "$rest")) -- "$token") "$rest"
end

# Mount options that localioctl set changes, as words of their own.
function __localiofs_live
    set --local names (__localiofs_help localiofs | sed -n 's/^  accepted without unmounting, by localioctl set: //p')
    __localiofs_options | grep -E '^('(string replace --all ' ' '|' -- $names)')(=|\s)' |
        __localiofs_named '' (commandline --current-token)
end

function __localiofs_long --argument-names program
    __localiofs_switches $program | __localiofs_named '' (commandline --current-token)
end

for program in localiofs mount.localiofs localiofs-mounter localiofs-sidecar localioctl
    complete --command $program --no-files
    complete --command $program --long-option help --description 'Print the usage'
    complete --command $program --long-option version --description 'Print the version'
end
for program in localiofs mount.localiofs localiofs-mounter
    complete --command $program --short-option o --exclusive --arguments '(__localiofs_list)' --description 'Mount options'
    complete --command $program --condition '__localiofs_nth 0' --arguments '(__localiofs_sources)'
    complete --command $program --condition '__localiofs_nth 1' --arguments '(__fish_complete_directories)'
end
for program in localiofs localiofs-mounter localiofs-sidecar
    complete --command $program --condition 'string match --quiet -- "-*" (commandline --current-token)' \
        --arguments "(__localiofs_long $program)"
end
for switch in s f n v
    complete --command mount.localiofs --short-option $switch
end

complete --command localioctl --condition '__localiofs_nth 0' --arguments '(__localiofs_commands)'
complete --command localioctl --arguments '(__localiofs_mounts)' \
    --condition '__localiofs_wants MOUNTPOINT; and begin; not __localiofs_wants "OPTION[=[]"; or __localiofs_nth 1; end'
complete --command localioctl --condition '__localiofs_wants FILE' --force-files
complete --command localioctl --condition '__localiofs_wants SERVER:' --arguments '(__localiofs_sources)'
complete --command localioctl --condition '__localiofs_wants "OPTION[=[]"; and test (count (__localiofs_words)) -gt 1' \
    --arguments '(__localiofs_live)'
complete --command localioctl --condition '__localiofs_wants "-o OPTIONS"' --short-option o --exclusive \
    --arguments '(__localiofs_list)' --description 'Mount options'
complete --command localioctl --condition 'string match --quiet -- "-*" (commandline --current-token)' \
    --arguments '(__localiofs_usage | string match --all --regex -- "--[a-z]+")'

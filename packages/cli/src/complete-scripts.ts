/** What shells need to ask `nso __complete`. Each is printed by `nso completion SHELL` and loaded by the user. */

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

const bash = `# nso completion for bash: source <(nso completion bash)
__nso_complete() {
    local out line word glue= glued= drop= directive=0
    local -a words=()
    COMPREPLY=()
    # bash takes --option=value for three words, and wants only the last of them.
    for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ $word == = || -n $glue ]] && (( \${#words[@]} )); then words[-1]+=$word; glued=1; else words+=("$word"); glued=; fi
        if [[ $word == = ]]; then glue=1; else glue=; fi
    done
    if [[ -n $glued ]]; then drop=\${words[-1]%%=*}=; fi
    out=$("\${COMP_WORDS[0]}" __complete "\${words[@]}" 2>/dev/null) || return 0
    while IFS= read -r line; do
        case $line in
            :*) directive=\${line#:} ;;
            ?*) line=\${line%%$'\\t'*}; COMPREPLY+=("\${line#"$drop"}") ;;
        esac
    done <<<"$out"
    if (( directive & 2 )); then compopt -o nospace 2>/dev/null; fi
    if (( directive & 4 )); then compopt +o default 2>/dev/null; fi
    return 0
}
complete -o default -F __nso_complete nso
`

const zsh = `#compdef nso
# nso completion for zsh: source <(nso completion zsh), or as a file _nso in a folder of $fpath
_nso() {
    local out line
    local -i directive=0
    local -a found described
    out=$(\${words[1]} __complete "\${(@)words[2,CURRENT]}" 2>/dev/null) || return 1
    for line in "\${(@f)out}"; do
        case $line in
            :*) directive=\${line#:} ;;
            ?*) found+=("\${line%%$'\\t'*}"); described+=("\${line/$'\\t'/  -- }") ;;
        esac
    done
    local -a how
    if (( directive & 2 )); then how=(-S ''); fi
    if (( \${#found} )); then compadd "\${how[@]}" -d described -a found
    elif ! (( directive & 4 )); then _files
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _nso "$@"; else compdef _nso nso; fi
`

const fish = `# nso completion for fish: nso completion fish | source
function __nso_complete
    set -l tokens (commandline -opc) (commandline -ct)
    set -l out ($tokens[1] __complete $tokens[2..-1] 2>/dev/null)
    or return
    for line in $out
        string match -q ':*' -- $line; or printf '%s\\n' $line
    end
    set -l directive (string replace ':' '' -- $out[-1])
    if test (math "bitand($directive, 4)") -eq 0
        __fish_complete_path (commandline -ct)
    end
end
complete -c nso -f -a '(__nso_complete)'
`

/** The script of a shell. */
export const completionScripts: Readonly<Record<Shell, string>> = { bash, zsh, fish }

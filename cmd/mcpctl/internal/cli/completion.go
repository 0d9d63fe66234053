package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// shells are those that completion is written for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

const completionLong = `Prints the script that lets a shell complete what is typed after mcpctl:
commands and flags, servers, tools and their arguments with the values that a
schema lists, prompts, resources.

Names come from a cache that every command fills that asks a server, such as
mcpctl list. A server that is not in it is asked when Tab is pressed, for two
seconds at most, if its configuration is one that is used without a question.`

const completionExample = `  # Bash, from now on (~/.bashrc), and for this session
  echo 'source <(mcpctl completion bash)' >> ~/.bashrc
  source <(mcpctl completion bash)

  # Zsh, in a folder of $fpath; compinit has to run behind it
  mcpctl completion zsh > "${fpath[1]}/_mcpctl"

  # Fish
  mcpctl completion fish > ~/.config/fish/completions/mcpctl.fish

  # PowerShell, from now on
  mcpctl completion powershell >> $PROFILE`

func newCompletionCmd(app *App) *cobra.Command {
	return &cobra.Command{
		Use:       "completion " + strings.Join(shells, "|"),
		Short:     "Let a shell complete what is typed",
		Long:      completionLong,
		Example:   completionExample,
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return usagef("there must be one shell: %s", strings.Join(shells, ", "))
			}
			script, err := completionScript(cmd.Root(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(app.Out, script)
			return err
		},
	}
}

// completionScript returns cobra's script for a shell, mended.
func completionScript(root *cobra.Command, shell string) (string, error) {
	var b bytes.Buffer
	var err error
	switch shell {
	case "bash":
		err = root.GenBashCompletionV2(&b, true)
	case "zsh":
		err = root.GenZshCompletion(&b)
	case "fish":
		err = root.GenFishCompletion(&b, true)
	case "powershell":
		err = root.GenPowerShellCompletionWithDesc(&b)
	}
	script := b.String()
	for _, m := range mends[shell] {
		if strings.Count(script, m.old) != 1 {
			return "", fmt.Errorf("the script for %s is not as it was: %q", shell, m.old)
		}
		script = strings.Replace(script, m.old, m.new, 1)
	}
	return script, err
}

// mends are what cobra's scripts lack. They evaluate the words of the line, so
// that Tab would run what stands in $(…), and redirect into files: where a shell
// can take quotes off a word that is done instead, else nothing is completed.
// They take every =, as in a-b=c, for that of a flag; bash's cannot do without
// the package bash-completion, and does not know that it breaks words at @.
var mends = map[string][]struct{ old, new string }{
	"bash": {
		{
			"    # Use eval to handle any environment variables and such\n",
			"    # What would be run, or written to, when it is evaluated is not.\n" +
				"    local word\n" +
				"    for word in \"${COMP_WORDS[@]}\"; do\n" +
				"        case $word in\n" +
				"        *'$('* | *'`'* | *'<('* | *'>('*) return ;;\n" +
				"        *[!'<>|&;()=:@']*) ;; # no operator of the shell, or quoted\n" +
				"        *['<>|&;()']*) return ;;\n" +
				"        esac\n" +
				"    done\n" +
				"    # Use eval to handle quotes and variables\n",
		},
		{
			"    if declare -F _init_completion >/dev/null 2>&1; then\n" +
				"        _init_completion -n =: || return\n" +
				"    else\n" +
				"        __mcpctl_init_completion -n =: || return\n" +
				"    fi\n",
			"    __mcpctl_words\n",
		},
		{
			"    __mcpctl_handle_special_char \"$cur\" :\n    __mcpctl_handle_special_char \"$cur\" =\n",
			"    __mcpctl_unbreak\n",
		},
		{
			"__start_mcpctl()\n",
			`# Bash breaks words at = : and @, which are within words here. Those that were
# typed without a space between them are joined.
__mcpctl_words()
{
    local line=$COMP_LINE i word breaks='=:@'
    words=() cword=0
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word=${COMP_WORDS[i]}
        if ((i > 0)) && [[ $line != [[:blank:]]* ]] &&
            [[ $word == [$breaks]* || ${COMP_WORDS[i-1]} == *[$breaks] ]] && [[ ${COMP_WORDS[i-1]} != *[\<\>\|\&\;] ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        line=${line#"${line%%[![:blank:]]*}"}
        line=${line#"$word"}
        ((i == COMP_CWORD)) && cword=$((${#words[@]} - 1))
    done
    cur=${words[cword]}
    # Only what stands before the cursor counts.
    local before=${COMP_LINE:0:COMP_POINT}
    while [[ -n $cur && $before != *"$cur" ]]; do cur=${cur%?}; done
    words[cword]=$cur
    prev=
    ((cword > 0)) && prev=${words[cword-1]}
}

# Bash replaces what stands behind the last break alone, with the @ if it is one.
__mcpctl_unbreak()
{
    local breaks=${COMP_WORDBREAKS//[^=:@]/} i
    [[ -n $breaks && $cur == *[$breaks]* ]] || return 0
    local before=${cur%"${cur##*[$breaks]}"}
    before=${before%@}
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=${COMPREPLY[i]#"$before"}
    done
}

__start_mcpctl()
`,
		},
	},
	"zsh": {
		{
			`words=("${=words[1,CURRENT]}")`,
			`words=("${(@)words[1,CURRENT]}")`,
		},
		{
			"    # Use eval to handle any environment variables and such\n    out=$(eval ${requestComp} 2>/dev/null)\n",
			"    # Quotes are taken off, and nothing is evaluated.\n" +
				"    words=(\"${(@Q)words}\")\n" +
				"    words=(\"${(@)words/#\\~\\//$HOME/}\")\n" +
				"    out=$(\"${words[1]}\" __complete \"${(@)words[2,-1]}\" 2>/dev/null)\n",
		},
		{`=~ '-.*='`, `=~ '^-.*='`},
	},
	"fish": {
		{
			"    set -l results (eval $requestComp 2> /dev/null)\n",
			"    # The words are words already, and nothing to be evaluated.\n" +
				"    set -l results (env MCPCTL_ACTIVE_HELP=0 $args[1] __complete $args[2..-1] (commandline -ct) 2> /dev/null)\n",
		},
		{`-r -- '-.*='`, `-r -- '^-.*='`},
	},
	"powershell": {
		{
			"    #call the command store",
			"    # What would be run when it is evaluated is not.\n" +
				"    if ($RequestComp -match '[(`;|]') {\n" +
				"        return\n" +
				"    }\n" +
				"    #call the command store",
		},
	},
}

// addCompletions says what the arguments and flags of each command become when
// Tab is pressed.
func (app *App) addCompletions(root *cobra.Command) {
	arguments := map[string]func(*completing){
		"call":     (*completing).call,
		"complete": (*completing).complete,
		"describe": (*completing).describe,
		"list":     (*completing).list,
		"prompt":   (*completing).prompt,
		"read":     (*completing).resource,
		"snapshot": (*completing).servers,
		"watch":    (*completing).servers,
		"search":   func(*completing) {},
		"serve":    func(*completing) {},
	}
	flags := map[string]func(*completing){
		"server":   (*completing).servers,
		"resource": (*completing).watched,
		"args":     (*completing).object,
		"answers":  (*completing).object,
	}
	values := map[string][]string{
		"protocol-version": {"2026-07-28", "legacy"},
		"color":            {"auto", "always", "never"},
		"log-format":       {"text", "json"},
		"fail-on":          {"breaking", "risky", "any", "none"},
		"extras":           {"explicit", "keep", "drop"},
		"numbers":          {"native", "exact"},
		"formats":          {"string", "time"},
		"validate":         {"on", "off"},
		"diagnostics":      {"text", "json"},
		"images":           {"auto", "kitty", "iterm", "sixel", "never"},
	}
	completes := len(app.line) > 0 && app.line[0] == cobra.ShellCompRequestCmd
	eachCommand(root, func(cmd *cobra.Command) {
		if f := arguments[cmd.Name()]; f != nil {
			cmd.ValidArgsFunction = app.complete(f)
		}
		own := func(flag *pflag.Flag) {
			what, usage := pflag.UnquoteUsage(flag)
			if completes {
				flag.Usage = usage // which is shown as it is there
			}
			if _, ok := cmd.GetFlagCompletionFunc(flag.Name); ok {
				return
			}
			switch {
			case flags[flag.Name] != nil:
				_ = cmd.RegisterFlagCompletionFunc(flag.Name, app.complete(flags[flag.Name]))
			case values[flag.Name] != nil:
				completeFlag(cmd, flag.Name, values[flag.Name]...)
			case what != "file" && what != "folder":
				completeFlag(cmd, flag.Name)
			}
		}
		cmd.LocalNonPersistentFlags().VisitAll(own)
		cmd.PersistentFlags().VisitAll(own)
	})
}

func eachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		eachCommand(sub, f)
	}
}

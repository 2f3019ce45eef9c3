/* Counts the instructions that functions of a process execute, by single steps.
 *
 *   steps PID EVERY < functions
 *
 * Each line of the input is `root ADDRESS NAME`, `inner ADDRESS NAME` or `over ADDRESS NAME`, with the address in
 * hexadecimal. When the process comes to a root, it is stepped until that call returns, for one call of EVERY; the
 * others are only counted. A call of an inner function within a root is counted apart; one of a function of the kind
 * `over` runs without being counted.
 *
 * Calls of a root that call an inner function and those that do not are two kinds of calls: their costs differ by more
 * than those within a kind, and how many there are of each is known. An inner function that is called while the process
 * is not stepped belongs to the last root that was entered.
 *
 * When the process has ended, each line of the output is `WITH CALLS STEPPED INSTRUCTIONS PATH`: 1 for the calls of
 * the root that call an inner function and 0 for the others; how often the path was entered, of a root by all calls and
 * else by the stepped ones; how many calls of its root were stepped; and the instructions of its last function in
 * these, without those of the functions that are counted apart. A line of an inner function alone has all its calls.
 *
 * Roots and inner functions are found by breakpoints, of which there are none while the process is stepped. A root that
 * is entered within another one is a part of it where that one is stepped, and else a root of its own. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#define MOST 64
#define DEPTH 16
#define BREAKPOINT 0xccUL

struct function {
    unsigned long address, word;
    char name[64];
    char kind;
    /* Those without a call of an inner function, and those with one. */
    unsigned long calls[2], stepped[2];
};

/* A call that is being counted: which function, where it returns to, and the stack pointer at its entry. */
struct frame {
    int function;
    unsigned long back, stack;
};

/* The functions from a root to one within it. */
struct path {
    int depth, functions[DEPTH];
    /* In the call of the root that is being stepped, and in those that have been, by their kind. */
    unsigned long calls_now, instructions_now, calls[2], instructions[2];
};

static struct function functions[MOST];
static struct path paths[1024];
static struct frame frames[DEPTH];
static int function_count, path_count, depth;
static pid_t process;

static void fail(const char *what)
{
    fprintf(stderr, "steps: %s: %s\n", what, strerror(errno));
    exit(1);
}

static unsigned long peek(unsigned long address)
{
    errno = 0;
    long word = ptrace(PTRACE_PEEKDATA, process, address, 0);
    if (errno)
        fail("memory cannot be read");
    return (unsigned long)word;
}

static void set_breakpoints(int on)
{
    for (int i = 0; i < function_count; i++) {
        if (functions[i].kind == 'o')
            continue;
        unsigned long word = functions[i].word;
        if (on)
            word = (word & ~0xffUL) | BREAKPOINT;
        if (ptrace(PTRACE_POKETEXT, process, functions[i].address, word) < 0)
            fail("a breakpoint cannot be set");
    }
}

static int find(unsigned long address)
{
    for (int i = 0; i < function_count; i++)
        if (functions[i].address == address)
            return i;
    return -1;
}

/* The path of the calls that are being counted. */
static struct path *here(void)
{
    for (int i = 0; i < path_count; i++) {
        int same = paths[i].depth == depth;
        for (int k = 0; same && k < depth; k++)
            same = paths[i].functions[k] == frames[k].function;
        if (same)
            return &paths[i];
    }
    if (path_count == (int)(sizeof paths / sizeof *paths)) {
        errno = ENOSPC;
        fail("too many paths");
    }
    struct path *path = &paths[path_count++];
    path->depth = depth;
    for (int k = 0; k < depth; k++)
        path->functions[k] = frames[k].function;
    return path;
}

static struct path *enter(int function, unsigned long stack)
{
    if (depth == DEPTH) {
        errno = ENOSPC;
        fail("too many calls within each other");
    }
    frames[depth++] = (struct frame){function, peek(stack), stack};
    struct path *path = here();
    path->calls_now++;
    return path;
}

/* Whether the call that has been stepped has called an inner function itself, not through another root. */
static int is_with_inner(void)
{
    for (int i = 0; i < path_count; i++) {
        int last = paths[i].depth - 1, found = paths[i].calls_now && functions[paths[i].functions[last]].kind == 'i';
        for (int k = 1; found && k < last; k++)
            found = functions[paths[i].functions[k]].kind != 'r';
        if (found)
            return 1;
    }
    return 0;
}

/* Adds the call of a root that has been stepped to those of its kind. */
static void add_stepped(struct function *root)
{
    int with = is_with_inner();
    root->calls[with]++;
    root->stepped[with]++;
    for (int i = 0; i < path_count; i++) {
        struct path *path = &paths[i];
        struct function *last = &functions[path->functions[path->depth - 1]];
        if (last->kind == 'i')
            last->calls[0] += path->calls_now;
        path->calls[with] += path->calls_now;
        path->instructions[with] += path->instructions_now;
        path->calls_now = path->instructions_now = 0;
    }
}

/* Waits for a stop, and gives its signal; 0 when the process has ended. Signals for the process are passed on with
 * the next order. */
static int stopped(void)
{
    int status;
    if (waitpid(process, &status, __WALL) < 0 || WIFEXITED(status) || WIFSIGNALED(status))
        return 0;
    return WSTOPSIG(status);
}

/* Lets the process run until the call that it has come to returns. Returns 0 when the process has ended. */
static int run_over(struct user_regs_struct *at)
{
    unsigned long stack = at->rsp, back = peek(stack), word = peek(back);
    int signal = 0;
    if (ptrace(PTRACE_POKETEXT, process, back, (word & ~0xffUL) | BREAKPOINT) < 0)
        fail("a breakpoint cannot be set");
    for (;;) {
        if (ptrace(PTRACE_CONT, process, 0, signal) < 0)
            return 0;
        int found = stopped();
        if (!found)
            return 0;
        signal = found == SIGTRAP ? 0 : found;
        if (signal)
            continue;
        if (ptrace(PTRACE_GETREGS, process, 0, at) < 0)
            return 0;
        if (at->rip - 1 != back)
            continue;
        at->rip = back;
        if (ptrace(PTRACE_POKETEXT, process, back, word) < 0 || ptrace(PTRACE_SETREGS, process, 0, at) < 0)
            return 0;
        if (at->rsp > stack)
            return 1;
        /* The same function within the call: this return is not the one that is waited for. */
        if (ptrace(PTRACE_SINGLESTEP, process, 0, 0) < 0 || !stopped() ||
            ptrace(PTRACE_POKETEXT, process, back, (word & ~0xffUL) | BREAKPOINT) < 0)
            return 0;
    }
}

/* Steps the call of a root until it returns. Returns 0 when the process has ended. */
static int step(int root, struct user_regs_struct *at)
{
    struct path *path = enter(root, at->rsp);
    int signal = 0;
    for (;;) {
        if (ptrace(PTRACE_SINGLESTEP, process, 0, signal) < 0)
            return 0;
        int found = stopped();
        if (!found)
            return 0;
        signal = found == SIGTRAP ? 0 : found;
        if (signal)
            continue;
        path->instructions_now++;
        if (ptrace(PTRACE_GETREGS, process, 0, at) < 0)
            return 0;
        int function = find(at->rip), ended = 0;
        if (function >= 0 && functions[function].kind == 'o') {
            if (!run_over(at))
                return 0;
            function = -1;
        }
        while (depth && at->rip == frames[depth - 1].back && at->rsp > frames[depth - 1].stack) {
            depth--;
            ended = 1;
        }
        if (!depth)
            return 1;
        if (ended)
            path = here();
        if (function >= 0)
            path = enter(function, at->rsp);
    }
}

int main(int count, char **arguments)
{
    if (count != 3 || atoi(arguments[1]) <= 0 || atoi(arguments[2]) <= 0) {
        fprintf(stderr, "usage: steps PID EVERY < functions\n");
        return 2;
    }
    process = atoi(arguments[1]);
    unsigned long every = strtoul(arguments[2], 0, 10);
    char kind[8];
    while (function_count < MOST && scanf("%7s %lx %63s", kind, &functions[function_count].address,
                                          functions[function_count].name) == 3)
        functions[function_count++].kind = kind[0];
    if (ptrace(PTRACE_SEIZE, process, 0, 0) < 0 || ptrace(PTRACE_INTERRUPT, process, 0, 0) < 0)
        fail("the process cannot be traced");
    if (!stopped())
        return 0;
    for (int i = 0; i < function_count; i++)
        functions[i].word = peek(functions[i].address);
    set_breakpoints(1);
    int signal = 0;
    /* The last root that was entered and not stepped, while it has called no inner function. */
    struct function *without = 0;
    for (;;) {
        if (ptrace(PTRACE_CONT, process, 0, signal) < 0)
            break;
        int found = stopped();
        if (!found)
            break;
        signal = found == SIGTRAP ? 0 : found;
        if (signal)
            continue;
        struct user_regs_struct at;
        if (ptrace(PTRACE_GETREGS, process, 0, &at) < 0)
            break;
        int place = find(at.rip - 1);
        if (place < 0)
            continue;
        struct function *entered = &functions[place];
        /* Back to the instruction that the breakpoint has replaced. */
        at.rip--;
        set_breakpoints(0);
        if (ptrace(PTRACE_SETREGS, process, 0, &at) < 0)
            break;
        if (entered->kind == 'r' && (entered->calls[0] + entered->calls[1]) % every == 0) {
            without = 0;
            if (!step(place, &at))
                break;
            add_stepped(entered);
        } else {
            if (entered->kind == 'i' && without) {
                without->calls[0]--;
                without->calls[1]++;
            }
            entered->calls[0]++;
            without = entered->kind == 'r' ? entered : 0;
            /* Over this one instruction alone. */
            do {
                if (ptrace(PTRACE_SINGLESTEP, process, 0, signal) < 0)
                    break;
                found = stopped();
                signal = found == SIGTRAP ? 0 : found;
            } while (signal);
            if (!found)
                break;
        }
        set_breakpoints(1);
    }
    for (int i = 0; i < function_count; i++)
        for (int with = 0; with < 2; with++)
            /* Calls of a kind of which none was stepped have no path. */
            if (functions[i].calls[with] && !functions[i].stepped[with])
                printf("%d %lu 0 0 %s\n", with, functions[i].calls[with], functions[i].name);
    for (int i = 0; i < path_count; i++) {
        const struct function *root = &functions[paths[i].functions[0]];
        for (int with = 0; with < 2; with++) {
            if (!paths[i].calls[with])
                continue;
            unsigned long calls = paths[i].depth == 1 ? root->calls[with] : paths[i].calls[with];
            printf("%d %lu %lu %lu ", with, calls, root->stepped[with], paths[i].instructions[with]);
            for (int k = 0; k < paths[i].depth; k++)
                printf("%s%s", k ? ">" : "", functions[paths[i].functions[k]].name);
            putchar('\n');
        }
    }
    return 0;
}

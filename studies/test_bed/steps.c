/* Counts the instructions that functions of a process execute, by single steps.
 *
 *   steps PID EVERY < functions
 *
 * Each line of the input is `root ADDRESS NAME`, `inner ADDRESS NAME` or `over ADDRESS NAME`, with the address in
 * hexadecimal. When the process comes to a root, it is stepped until that call returns, for one call of EVERY; the
 * others are only counted. A call of an inner function within a root is counted apart; one of a function of the kind
 * `over` runs without being counted. When the process has ended, each line of the output is
 * `CALLS STEPPED INSTRUCTIONS PATH`: how often the path was entered while it was counted, how many calls of its root
 * were stepped, and the instructions of its last function without those of the functions that are counted apart.
 *
 * A root is found by a breakpoint, of which there is none while the process is stepped. */
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
    unsigned long calls, stepped;
};

/* A call that is being counted: which function, where it returns to, and the stack pointer at its entry. */
struct frame {
    int function;
    unsigned long back, stack;
};

/* The functions from a root to one within it. */
struct path {
    int depth, functions[DEPTH];
    unsigned long calls, instructions;
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
        if (functions[i].kind != 'r')
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
    path->calls++;
    return path;
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
        path->instructions++;
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
        int root = find(at.rip - 1);
        if (root < 0)
            continue;
        /* Back to the instruction that the breakpoint has replaced. */
        at.rip--;
        set_breakpoints(0);
        if (ptrace(PTRACE_SETREGS, process, 0, &at) < 0)
            break;
        if (functions[root].calls++ % every == 0) {
            functions[root].stepped++;
            if (!step(root, &at))
                break;
        } else {
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
    for (int i = 0; i < path_count; i++) {
        const struct function *root = &functions[paths[i].functions[0]];
        unsigned long calls = paths[i].depth == 1 ? root->calls : paths[i].calls;
        printf("%lu %lu %lu ", calls, root->stepped, paths[i].instructions);
        for (int k = 0; k < paths[i].depth; k++)
            printf("%s%s", k ? ">" : "", functions[paths[i].functions[k]].name);
        putchar('\n');
    }
    return 0;
}

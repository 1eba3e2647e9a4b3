// SPDX-License-Identifier: MIT
/* Names of signals and their codes; see signame.h. */
#include "dump/base/signame.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Of the signals ended with a core dump (kernel: SIG_KERNEL_COREDUMP_MASK). */
const int signame_faults[] = {SIGSEGV, SIGBUS,	SIGFPE,	 SIGILL,  SIGTRAP, SIGSYS,
			      SIGABRT, SIGQUIT, SIGXCPU, SIGXFSZ, 0};

bool signame_is_fault(int signo)
{
	for (size_t i = 0; signame_faults[i]; i++)
		if (signame_faults[i] == signo)
			return true;
	return false;
}

const char *signame(int signo, char *out, size_t n)
{
	const char *abbrev = sigabbrev_np(signo);

	if (abbrev)
		snprintf(out, n, "SIG%s", abbrev);
	else
		snprintf(out, n, "signal %d", signo);
	return out;
}

struct signal_code {
	int signo, code; /* signo 0: of any signal */
	const char *name;
};

#define OF(signo, code)                                                                            \
	{                                                                                          \
		signo, code, #code                                                                 \
	}

static const struct signal_code codes[] = {
	OF(0, SI_USER),
	OF(0, SI_QUEUE),
	OF(0, SI_TIMER),
	OF(0, SI_MESGQ),
	OF(0, SI_ASYNCIO),
	OF(0, SI_SIGIO),
	OF(0, SI_TKILL),
	OF(0, SI_KERNEL),
	OF(SIGSEGV, SEGV_MAPERR),
	OF(SIGSEGV, SEGV_ACCERR),
	OF(SIGSEGV, SEGV_BNDERR),
	OF(SIGSEGV, SEGV_PKUERR),
	OF(SIGBUS, BUS_ADRALN),
	OF(SIGBUS, BUS_ADRERR),
	OF(SIGBUS, BUS_OBJERR),
	OF(SIGBUS, BUS_MCEERR_AR),
	OF(SIGBUS, BUS_MCEERR_AO),
	OF(SIGFPE, FPE_INTDIV),
	OF(SIGFPE, FPE_INTOVF),
	OF(SIGFPE, FPE_FLTDIV),
	OF(SIGFPE, FPE_FLTOVF),
	OF(SIGFPE, FPE_FLTUND),
	OF(SIGFPE, FPE_FLTRES),
	OF(SIGFPE, FPE_FLTINV),
	OF(SIGFPE, FPE_FLTSUB),
	OF(SIGILL, ILL_ILLOPC),
	OF(SIGILL, ILL_ILLOPN),
	OF(SIGILL, ILL_ILLADR),
	OF(SIGILL, ILL_ILLTRP),
	OF(SIGILL, ILL_PRVOPC),
	OF(SIGILL, ILL_PRVREG),
	OF(SIGILL, ILL_COPROC),
	OF(SIGILL, ILL_BADSTK),
	OF(SIGTRAP, TRAP_BRKPT),
	OF(SIGTRAP, TRAP_TRACE),
	OF(SIGTRAP, TRAP_BRANCH),
	OF(SIGTRAP, TRAP_HWBKPT),
};

const char *signame_code(int signo, int code, char *out, size_t n)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].code == code && (!codes[i].signo || codes[i].signo == signo))
			return codes[i].name;
	snprintf(out, n, "%d", code);
	return out;
}

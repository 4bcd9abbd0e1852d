#include "textflag.h"

// func vfork(flags uintptr, l *launch) (errno uintptr)
//
// The child shares this memory and this stack until its execve, while the
// caller waits: it goes on below this frame and never returns through it.
TEXT ·vfork(SB), NOSPLIT, $16-24
	MOVQ	flags+0(FP), DI
	XORL	SI, SI
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	MOVL	$56, AX // SYS_CLONE
	SYSCALL
	CMPQ	AX, $0xfffffffffffff001
	JCC	failed
	TESTQ	AX, AX
	JNE	caller
	MOVQ	l+8(FP), AX
	MOVQ	AX, 0(SP)
	CALL	·leader(SB)
	INT	$3
caller:
	MOVQ	$0, errno+16(FP)
	RET
failed:
	NEGQ	AX
	MOVQ	AX, errno+16(FP)
	RET

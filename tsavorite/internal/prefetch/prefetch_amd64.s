#include "textflag.h"

// func Touch(lines *Lines, count, offset int)
TEXT ·Touch(SB), NOSPLIT, $0-24
	MOVQ  lines+0(FP), SI
	MOVQ  count+8(FP), CX
	MOVQ  offset+16(FP), DX
	TESTQ CX, CX
	JLE   done

next:
	MOVQ       (SI), AX
	PREFETCHT0 (AX)
	PREFETCHT0 (AX)(DX*1)
	ADDQ       $8, SI
	DECQ       CX
	JNZ        next

done:
	RET

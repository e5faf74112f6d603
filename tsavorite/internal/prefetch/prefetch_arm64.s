#include "textflag.h"

// func Touch(lines *Lines, count, offset int)
TEXT ·Touch(SB), NOSPLIT, $0-24
	MOVD lines+0(FP), R0
	MOVD count+8(FP), R1
	MOVD offset+16(FP), R2
	CMP  $0, R1
	BLE  done

next:
	MOVD (R0), R3
	PRFM (R3), PLDL1KEEP
	ADD  R2, R3
	PRFM (R3), PLDL1KEEP
	ADD  $8, R0
	SUBS $1, R1
	BNE  next

done:
	RET

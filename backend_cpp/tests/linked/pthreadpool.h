// Stands for pthreadpool's own header; xnnpack.h here declares its functions too.
#pragma once

#include "xnnpack.h"

/* SPDX-License-Identifier: MIT */
/*
 * SANITIZED: 1 when this is built with AddressSanitizer, which takes terabytes of addresses and
 * time, and puts an allocator of its own before glibc's; else 0.
 */
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

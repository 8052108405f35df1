// SPDX-License-Identifier: Apache-2.0
#include "net/http.h"

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/loop.h"

// SPDX-License-Identifier: Apache-2.0
#include "kube/object.h"

#include "json/patch.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "kube/api.h"

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * describe.c - registers commands, and makes COMMAND DOCS from how their arguments are written.
 *
 * The grammar of struct command's usage:
 *
 *   arguments  argument ...
 *   argument   what, or what... if it may come several times
 *   what       WORD                 itself
 *              WORD argument        a word and its value: only if a name or a block follows it
 *              name  name:integer  name:time  name:pattern
 *              [arguments]          may be left out
 *              (what|what|...)      one of these
 *              {arguments}          these together
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

#define SINCE "0.1.0"

#define KEPT 256
#define ARGUMENTS 16

/* Texts and lists live until the command is registered; the server copies them. */
struct parser {
	const char *at;
	void *kept[KEPT];
	size_t n;
};

static void *keep(struct parser *parser, size_t size)
{
	void *block = vk.Alloc(size);

	LATH_ASSERT(parser->n < KEPT);
	memset(block, 0, size);
	return parser->kept[parser->n++] = block;
}

static void spaces(struct parser *parser)
{
	while (*parser->at == ' ')
		parser->at++;
}

static const char *name(struct parser *parser, const char *end)
{
	size_t size = strcspn(parser->at, end);
	char *text = keep(parser, size + 1);

	memcpy(text, parser->at, size);
	parser->at += size;
	return text;
}

static struct vk_arg *list(struct parser *parser, char separator, char end);

/* Is the next thing a word in capitals? */
static bool is_token(const char *at)
{
	return isupper((unsigned char)*at);
}

static const char *lower(struct parser *parser, const char *token)
{
	char *text = keep(parser, strlen(token) + 1);
	size_t i;

	for (i = 0; token[i]; i++)
		text[i] = (char)tolower((unsigned char)token[i]);
	return text;
}

/* A list in brackets: one argument as itself, several as a block, alternatives as a choice. */
static void group(struct parser *parser, struct vk_arg *arg, char separator, char end)
{
	struct vk_arg *inner;

	parser->at++;
	inner = list(parser, separator, end);
	parser->at++;
	if (inner[0].name && !inner[1].name) {
		const char *token = arg->token;

		*arg = inner[0];
		arg->token = arg->token ? arg->token : token;
		return;
	}
	arg->type = separator == '|' ? VK_ARG_ONEOF : VK_ARG_BLOCK;
	arg->name = inner[0].name;
	arg->args = inner;
}

static void plain(struct parser *parser, struct vk_arg *arg)
{
	arg->name = name(parser, " :.]|)}");
	if (*parser->at == ':') {
		parser->at++;
		arg->type = *parser->at == 't'	 ? VK_ARG_TIME
			    : *parser->at == 'p' ? VK_ARG_PATTERN
						 : VK_ARG_INTEGER;
		parser->at += strcspn(parser->at, " .]|)}");
	} else if (!strcmp(arg->name, "key")) {
		arg->type = VK_ARG_KEY;
		arg->key_spec = 0;
	}
}

static void argument(struct parser *parser, struct vk_arg *arg)
{
	arg->key_spec = -1;
	if (is_token(parser->at)) {
		arg->token = name(parser, " .]|)}");
		arg->type = VK_ARG_TOKEN;
		arg->name = lower(parser, arg->token);
		if (*parser->at != ' ' ||
		    (parser->at[1] != '{' && !islower((unsigned char)parser->at[1])))
			return;
		spaces(parser);
		arg->type = VK_ARG_STRING;
	}
	switch (*parser->at) {
	case '[':
		group(parser, arg, ' ', ']');
		arg->flags |= VK_ARG_OPTIONAL;
		break;
	case '(':
		group(parser, arg, '|', ')');
		break;
	case '{':
		group(parser, arg, ' ', '}');
		break;
	default:
		plain(parser, arg);
	}
	if (!strncmp(parser->at, "...", 3)) {
		arg->flags |= VK_ARG_MULTIPLE;
		parser->at += 3;
	}
}

/* The arguments up to `end`, which is not consumed; the last one has no name. */
static struct vk_arg *list(struct parser *parser, char separator, char end)
{
	struct vk_arg *args = keep(parser, ARGUMENTS * sizeof(*args));
	size_t n = 0;

	for (spaces(parser); *parser->at != end; spaces(parser)) {
		LATH_ASSERT(*parser->at && n + 1 < ARGUMENTS); /* a bracket that is not closed */
		argument(parser, &args[n++]);
		if (*parser->at == separator)
			parser->at++;
	}
	return args;
}

/* How many arguments there are at least, with the command; negative if there may be more. */
static int arity(const struct vk_arg *args)
{
	int least = 1, more = 0;

	for (; args->name; args++) {
		more |= args->flags;
		if (args->flags & VK_ARG_OPTIONAL)
			continue;
		if (args->type == VK_ARG_ONEOF)
			more = 1;
		least += args->token && args->type != VK_ARG_TOKEN;
		if (args->type == VK_ARG_BLOCK) {
			int inner = arity(args->args);

			least += (inner < 0 ? -inner : inner) - 1;
		} else {
			least++;
		}
	}
	return more ? -least : least;
}

/* What a command does with its key: ACCESS needs the right to read it, all that changes it the
 * right to write. */
static uint64_t key_flags(unsigned int flags)
{
	uint64_t tells = flags & COMMAND_TELLS ? VK_SPEC_ACCESS : 0;

	if (flags & (COMMAND_ADD | COMMAND_UPDATE))
		return VK_SPEC_CHANGE | VK_SPEC_UPDATE | tells;
	if (flags & COMMAND_CHANGE)
		return VK_SPEC_CHANGE | VK_SPEC_DELETE | tells;
	return VK_SPEC_READ | VK_SPEC_ACCESS;
}

static int describe(struct vk_command *made, const struct command *command)
{
	static const struct vk_command_info_version version = { 1, sizeof(struct vk_history),
								sizeof(struct vk_key_spec),
								sizeof(struct vk_arg) };
	struct vk_key_spec keys[2] = { { 0 }, { 0 } };
	struct parser parser = { .at = command->usage };
	struct vk_command_info info = { .version = &version,
					.summary = command->summary,
					.complexity = command->complexity,
					.since = SINCE,
					.key_specs = keys };
	int ret;

	keys[0].begin = VK_BEGIN_INDEX;
	keys[0].at.position = 1;
	keys[0].find = VK_FIND_RANGE;
	keys[0].range.step = 1;
	keys[0].flags = key_flags(command->flags);
	info.args = list(&parser, ' ', 0);
	LATH_ASSERT(!*command->usage ||
		    !strcmp(info.args[0].name, "key")); /* as the key specification says */
	if (!*command->usage)
		info.key_specs = NULL;
	info.arity = arity(info.args);
	ret = vk.SetCommandInfo(made, &info);
	while (parser.n)
		vk.Free(parser.kept[--parser.n]);
	return ret;
}

/* Writes a line of HELP for people: a name without its type. */
static void help_line(struct vk_ctx *ctx, const struct command *command)
{
	BUFFER line = { 0 };
	const char *at;

	buffer_add(&line, command->name, strlen(command->name));
	if (*command->usage)
		buffer_add(&line, " ", 1);
	for (at = command->usage; *at; at++) {
		if (*at == ':')
			at += strcspn(at, " .]|)}");
		if (!*at)
			break;
		if (*at != '{' && *at != '}')
			buffer_add(&line, at, 1);
	}
	if (line.failed)
		vk.ReplyWithSimpleString(ctx, command->name);
	else
		vk.ReplyWithStringBuffer(ctx, line.data, line.size);
}

int reply_help(struct vk_ctx *ctx, int argc, const struct command *commands, size_t n)
{
	char text[200];
	size_t i;

	if (argc != 1)
		return vk.WrongArity(ctx);
	vk.ReplyWithArray(ctx, 2 * (long)n);
	for (i = 0; i < n; i++) {
		help_line(ctx, &commands[i]);
		strcpy(text, "    ");
		strncat(text, commands[i].summary, sizeof(text) - 5);
		vk.ReplyWithSimpleString(ctx, text);
	}
	return VK_OK;
}

/* Registers a command under one of its names. VK_OK | VK_ERR */
static int register_as(struct vk_ctx *ctx, const struct command *command, const char *name)
{
	bool writes = command->flags & (COMMAND_ADD | COMMAND_UPDATE | COMMAND_CHANGE);
	int keys = *command->usage != 0;
	char flags[64], categories[64];
	struct vk_command *made;

	strcpy(flags, writes ? "write" : "readonly");
	strcpy(categories, writes ? "lathwork write" : "lathwork read");
	if (command->flags & COMMAND_ADD)
		strcat(flags, " deny-oom");
	if (command->flags & COMMAND_FAST)
		strcat(flags, " fast");
	if (command->flags & COMMAND_BLOCKS) {
		strcat(flags, " blocking");
		strcat(categories, " blocking");
	}
	strcat(categories, command->flags & COMMAND_FAST ? " fast" : " slow");
	if (vk.CreateCommand(ctx, name, command->run, flags, keys, keys, keys))
		return VK_ERR;
	made = vk.GetCommand(ctx, name);
	if (!made || describe(made, command) ||
	    (vk.SetCommandACLCategories && vk.SetCommandACLCategories(made, categories)))
		return VK_ERR;
	return VK_OK;
}

int commands_register(struct vk_ctx *ctx, const struct command *commands, size_t n)
{
	char other[32];
	size_t i;

	for (i = 0; i < n; i++) {
		const char *name = commands[i].name, *dot = strrchr(name, '.');

		LATH_ASSERT(strlen(name) < sizeof(other));
		memcpy(other, name, (size_t)(dot - name));
		strcpy(other + (dot - name), dot + 1);
		if (register_as(ctx, &commands[i], name) || register_as(ctx, &commands[i], other))
			return VK_ERR;
	}
	return VK_OK;
}

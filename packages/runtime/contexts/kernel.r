# Runs R code piece by piece, and keeps its variables between the pieces.
#
# Requests arrive on descriptor 3, one per line: list(code, NAME = value) of strings, or NULL to interrupt the code. Events go to
# descriptor 4: {"ready"}, {"begun"}, and {"done", "error", "results"}, because R prints to descriptors 1 and 2, and what
# it has printed comes before the results. Plots become images at the end of the run.

local({
  requests <- fifo("/dev/fd/3", "r", blocking = TRUE)
  waiting <- fifo("/dev/fd/3", "r", blocking = FALSE)
  events <- fifo("/dev/fd/4", "wb", blocking = TRUE)
  # PIPE_BUF: an interrupt cannot cut such a write short.
  longest <- 4096L
  plots <- tempfile("plots")
  dir.create(plots)
  devices <- integer()
  opened <- 0L
  results <- character()
  calls <- list()
  depth <- 0L

  # Sends one event. Each argument is JSON.
  send <- function(...) suspendInterrupts({
    bytes <- charToRaw(paste0(object(...), "\n"))
    for (from in seq(1L, length(bytes), by = longest)) {
      writeBin(bytes[from:min(from + longest - 1L, length(bytes))], events)
    }
  })

  object <- function(...) {
    fields <- c(...)
    paste0("{", paste0("\"", names(fields), "\":", fields, collapse = ","), "}")
  }

  quoted <- function(lines) {
    text <- iconv(enc2utf8(paste(lines, collapse = "\n")), "UTF-8", "UTF-8", sub = "\ufffd")
    text <- gsub("([\"\\\\])", "\\\\\\1", text)
    for (code in unique(utf8ToInt(text))) {
      if (code < 32L) text <- gsub(intToUtf8(code), sprintf("\\u%04x", code), text, fixed = TRUE)
    }
    paste0("\"", text, "\"")
  }

  base64 <- function(bytes) {
    missing <- -length(bytes) %% 3L
    of <- matrix(c(as.integer(bytes), integer(missing)), nrow = 3L)
    digits <- rbind(
      of[1L, ] %/% 4L,
      of[1L, ] %% 4L * 16L + of[2L, ] %/% 16L,
      of[2L, ] %% 16L * 4L + of[3L, ] %/% 64L,
      of[3L, ] %% 64L
    )
    text <- c(LETTERS, letters, 0:9, "+", "/")[digits + 1L]
    text[length(text) + 1L - seq_len(missing)] <- "="
    paste(text, collapse = "")
  }

  # The device that R opens when code plots and has opened none itself.
  open_device <- function(...) {
    opened <<- opened + 1L
    grDevices::png(file.path(plots, sprintf("%06d-%%04d.png", opened)), 1000, 750, res = 125)
    devices <<- c(devices, grDevices::dev.cur())
  }

  add_result <- function(form, json, main) {
    forms <- object(structure(json, names = form))
    results <<- c(results, object(result = forms, main = main))
  }

  add_plots <- function() {
    for (device in intersect(devices, grDevices::dev.list())) grDevices::dev.off(device)
    devices <<- integer()
    for (file in sort(list.files(plots, full.names = TRUE))) {
      image <- base64(readBin(file, "raw", file.size(file)))
      add_result("image/png", paste0("\"", image, "\""), "false")
      unlink(file)
    }
  }

  # R looks for an interrupt only now and then.
  check_interrupt <- function() Sys.sleep(0)

  run <- function(code) {
    expressions <- tryCatch(
      parse(text = code, keep.source = TRUE, encoding = "UTF-8"),
      error = function(error) stop(errorCondition(conditionMessage(error), class = "syntaxError"))
    )
    depth <<- sys.nframe()
    for (index in seq_along(expressions)) {
      value <- withVisible(eval(expressions[[index]], globalenv()))
      check_interrupt()
      if (!value$visible) next
      if (index < length(expressions)) print(value$value) else add_value(value$value)
    }
  }

  # The value of the last expression. Some values print no text, but a plot.
  add_value <- function(value) {
    text <- utils::capture.output(print(value))
    if (length(text) > 0L) add_result("text/plain", quoted(text), "true")
  }

  failure <- function(name, value, traceback) {
    object(name = quoted(name), value = quoted(value), traceback = quoted(traceback))
  }

  report <- function(error) {
    value <- tryCatch(conditionMessage(error), error = function(.) "")
    call <- conditionCall(error)
    head <- if (is.null(call) || is_own(call)) "Error: " else paste0("Error in ", shown(call), " : ")
    stack <- vapply(calls, shown, "")
    trace <- if (length(stack) > 0L) c("Traceback (most recent call last):", paste0("  ", stack))
    failure(class(error)[[1L]], value, c(paste0(head, value), trace))
  }

  shown <- function(call) {
    text <- deparse(call, nlines = 1L)[[1L]]
    line <- attr(call, "srcref")[1L]
    if (is.null(line)) text else paste0(text, " (line ", line, ")")
  }

  is_own <- function(call) identical(call, quote(eval(expressions[[index]], globalenv())))

  # R would name a call of this file.
  warn <- function(warning) {
    if (!is_own(conditionCall(warning)) || !getOption("warn") %in% 0:1) return()
    message("Warning: ", conditionMessage(warning))
    invokeRestart("muffleWarning")
  }

  # Keeps the calls of the code, without those of this file around them.
  keep_calls <- function(error) {
    above <- sys.calls()[seq_len(sys.nframe() - 1L)]
    isHandler <- vapply(above, function(call) identical(call[[1L]], quote(.handleSimpleError)), NA)
    # withVisible(), and eval() twice.
    own <- depth + 3L
    calls <<- if (depth > 0L && length(above) > own) above[-seq_len(own)][!isHandler[-seq_len(own)]] else list()
  }

  interrupted <- failure("Interrupted", "", "Interrupted")

  # Runs code. Returns the error as JSON.
  outcome <- function(code) {
    results <<- character()
    calls <<- list()
    depth <<- 0L
    # An interrupt that arrived after the end of the code before.
    tryCatch(allowInterrupts(check_interrupt()), interrupt = function(.) NULL)
    tryCatch(
      {
        allowInterrupts({
          send(begun = "true")
          withCallingHandlers(run(code), error = keep_calls, warning = warn)
        })
        "null"
      },
      error = report,
      interrupt = function(.) interrupted
    )
  }

  # Sets variables of the environment. Returns a function that gives them back their previous values.
  set_variables <- function(env) {
    if (length(env) == 0L) return(function() NULL)
    before <- Sys.getenv(names(env), NA, names = TRUE)
    do.call(Sys.setenv, env)
    function() {
      Sys.unsetenv(names(before)[is.na(before)])
      kept <- as.list(before[!is.na(before)])
      if (length(kept) > 0L) do.call(Sys.setenv, kept)
    }
  }

  # Status of a command that SIGINT has ended, or that has exited so.
  killed <- 2L
  attach(name = "hookbox", list(system = function(...) {
    result <- withVisible(base::system(...))
    # R ignores signals while a command runs, so that an interrupt ends only the command.
    if (identical(result$value, killed)) {
      Sys.sleep(0.05)
      if (length(readLines(waiting)) > 0L) signalCondition(structure(class = c("interrupt", "condition"), list()))
    }
    if (result$visible) result$value else invisible(result$value)
  }))
  options(warn = 1L, device = open_device)
  if (identical(getOption("repos")[["CRAN"]], "@CRAN@")) options(repos = c(CRAN = "https://cloud.r-project.org"))
  suspendInterrupts({
    send(ready = "true")
    while (length(line <- readLines(requests, 1L, encoding = "UTF-8")) > 0L) {
      request <- as.list(parse(text = line, encoding = "UTF-8")[[1L]])[-1L]
      if (length(request) == 0L) next
      restore <- set_variables(request[-1L])
      error <- outcome(request[[1L]])
      restore()
      try(add_plots(), silent = TRUE)
      send(done = "true", error = error, results = paste0("[", paste(results, collapse = ","), "]"))
    }
  })
})

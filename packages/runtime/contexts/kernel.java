import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.util.Arrays;
import java.util.Base64;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import jdk.jshell.DeclarationSnippet;
import jdk.jshell.Diag;
import jdk.jshell.EvalException;
import jdk.jshell.JShell;
import jdk.jshell.JShellException;
import jdk.jshell.Snippet;
import jdk.jshell.Snippet.SubKind;
import jdk.jshell.SnippetEvent;
import jdk.jshell.UnresolvedReferenceException;
import sun.misc.Signal;

/**
 * Runs Java code piece by piece with JShell, and keeps its variables, methods and classes between the pieces.
 *
 * Requests arrive on descriptor 3, one per line: the code, and names and values of system properties, in base64. Events go to descriptor 4, as in kernel.py. Child
 * processes write to descriptors 1 and 2 instead.
 */
class Kernel {
  /** Those of the program jshell. */
  static final List<String> IMPORTS = List.of("java.io", "java.math", "java.net", "java.nio.file", "java.util",
      "java.util.concurrent", "java.util.function", "java.util.prefs", "java.util.regex", "java.util.stream");
  static final Set<SubKind> VALUES = EnumSet.of(SubKind.VAR_VALUE_SUBKIND, SubKind.ASSIGNMENT_SUBKIND,
      SubKind.OTHER_EXPRESSION_SUBKIND, SubKind.TEMP_VAR_EXPRESSION_SUBKIND);
  static final String INTERRUPTED = failure("Interrupted", "", "Interrupted");
  static final int INTERRUPT_MS = 10;

  static OutputStream events;
  static JShell shell;
  /** The number of the run, which changes at its end. */
  static int current = 1;
  /** The last run that got an interrupt. */
  static int interrupted;
  static final Object turn = new Object();

  public static void main(String[] args) throws Exception {
    events = new FileOutputStream("/dev/fd/4");
    var requests = new BufferedReader(new InputStreamReader(new FileInputStream("/dev/fd/3"), US_ASCII));
    Output out = new Output("stdout"), err = new Output("stderr");
    System.setOut(new PrintStream(out, true, UTF_8));
    System.setErr(new PrintStream(err, true, UTF_8));
    Signal.handle(new Signal("INT"), signal -> interrupt());
    // In this process: an own process of JShell would look like a job of the code.
    shell = JShell.builder().executionEngine("local").build();
    var classPath = System.getenv("CLASSPATH");
    if (classPath != null) shell.addToClasspath(classPath);
    for (var name : IMPORTS) shell.eval("import " + name + ".*;");
    send("\"ready\":true");
    for (String line; (line = requests.readLine()) != null;) {
      var request = Arrays.stream(line.split(" ", -1)).map(one -> new String(Base64.getDecoder().decode(one), UTF_8)).toList();
      var before = new HashMap<String, String>();
      // A Java process cannot change the variables of its environment.
      for (var at = 1; at < request.size(); at += 2) before.put(request.get(at), set(request.get(at), request.get(at + 1)));
      send("\"begun\":true");
      var error = run(request.get(0));
      before.forEach(Kernel::set);
      synchronized (turn) {
        current++;
      }
      out.finish();
      err.finish();
      send("\"done\":true,\"error\":" + error);
    }
    System.exit(0);
  }

  /** Sets a system property, and returns its previous value; null: it had or has none. */
  static String set(String name, String value) {
    return value == null ? System.clearProperty(name) : System.setProperty(name, value);
  }

  /** Stops the code until the run has ended, because it may be between two statements. */
  static void interrupt() {
    var run = current;
    for (interrupted = run;;) {
      synchronized (turn) {
        if (current != run) return;
        shell.stop();
      }
      try {
        Thread.sleep(INTERRUPT_MS);
      } catch (InterruptedException error) {
        return;
      }
    }
  }

  /** Runs code. Returns the error as JSON. */
  static String run(String code) {
    var analysis = shell.sourceCodeAnalysis();
    SnippetEvent last = null;
    for (var rest = code; !rest.isEmpty();) {
      var info = analysis.analyzeCompletion(rest);
      if (info.completeness() == jdk.jshell.SourceCodeAnalysis.Completeness.EMPTY) break;
      // JShell says what is missing.
      var isComplete = info.completeness().isComplete();
      for (var event : shell.eval(isComplete ? info.source() : rest)) {
        if (interrupted == current) return INTERRUPTED;
        if (event.causeSnippet() != null) continue;
        var error = errorOf(event, code, code.length() - rest.length());
        if (error != null) return error;
        last = event;
      }
      if (interrupted == current) return INTERRUPTED;
      rest = isComplete ? info.remaining() : "";
    }
    if (last != null && VALUES.contains(last.snippet().subKind()) && last.value() != null) {
      send("\"result\":{\"text/plain\":" + quoted(last.value()) + "},\"main\":true");
    }
    return "null";
  }

  /** Returns undefined as null. @param from where the snippet begins in the code */
  static String errorOf(SnippetEvent event, String code, int from) {
    var snippet = event.snippet();
    var missing = snippet instanceof DeclarationSnippet declaration
        ? shell.unresolvedDependencies(declaration).collect(Collectors.joining(", "))
        : "";
    if (event.exception() instanceof EvalException error) {
      return failure(error.getExceptionClassName(), error.getMessage(), traceOf(error));
    }
    if (event.exception() instanceof UnresolvedReferenceException error) {
      missing = shell.unresolvedDependencies(error.getSnippet()).collect(Collectors.joining(", "));
      return failure("CompilationError", "cannot find " + missing, traceOf(error));
    }
    if (event.status() == Snippet.Status.RECOVERABLE_NOT_DEFINED) {
      return failure("CompilationError", "cannot find " + missing, "cannot find " + missing);
    }
    if (event.status() != Snippet.Status.REJECTED) return null;
    var errors = shell.diagnostics(snippet).filter(Diag::isError).collect(Collectors.toList());
    var value = errors.isEmpty() ? "not valid" : errors.get(0).getMessage(null);
    return failure("CompilationError", value, errors.stream().map(one -> {
      var line = code.substring(0, (int) Math.min(code.length(), from + one.getStartPosition())).lines().count();
      return "line " + Math.max(1, line) + ": " + one.getMessage(null);
    }).collect(Collectors.joining("\n")));
  }

  /** As the program jshell shows it: `#3:1` is line 1 of the third snippet. */
  static String traceOf(JShellException error) {
    var name = error instanceof EvalException thrown ? thrown.getExceptionClassName() : "CompilationError";
    var text = new StringBuilder(error.getMessage() == null ? name : name + ": " + error.getMessage());
    for (var frame : error.getStackTrace()) {
      var owner = frame.getClassName().isEmpty() ? "" : frame.getClassName() + ".";
      text.append("\n\tat " + owner + frame.getMethodName() + "(" + frame.getFileName() + ":" + frame.getLineNumber() + ")");
    }
    return error.getCause() instanceof JShellException cause ? text + "\nCaused by: " + traceOf(cause) : text.toString();
  }

  static String failure(String name, String value, String traceback) {
    return "{\"name\":" + quoted(name) + ",\"value\":" + quoted(value) + ",\"traceback\":" + quoted(traceback) + "}";
  }

  static String quoted(String text) {
    var json = new StringBuilder("\"");
    for (var c : (text == null ? "" : text).toCharArray()) {
      if (c == '"' || c == '\\') json.append('\\').append(c);
      else if (c < ' ') json.append(String.format("\\u%04x", (int) c));
      else json.append(c);
    }
    return json.append('"').toString();
  }

  static synchronized void send(String fields) {
    try {
      events.write(("{" + fields + "}\n").getBytes(UTF_8));
    } catch (java.io.IOException error) {
      System.exit(1);
    }
  }

  /** System.out or System.err. Its text is sent as events. The bytes of one character may arrive in several writes. */
  static class Output extends OutputStream {
    final String stream;
    final CharsetDecoder decoder = UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPLACE)
        .onUnmappableCharacter(CodingErrorAction.REPLACE);
    byte[] rest = {};

    Output(String stream) {
      this.stream = stream;
    }

    @Override
    public void write(int one) {
      write(new byte[] {(byte) one}, 0, 1);
    }

    @Override
    public synchronized void write(byte[] bytes, int from, int count) {
      var in = ByteBuffer.allocate(rest.length + count).put(rest).put(bytes, from, count).flip();
      var text = CharBuffer.allocate(in.remaining() + 1);
      decoder.reset().decode(in, text, false);
      rest = new byte[in.remaining()];
      in.get(rest);
      show(text.flip().toString());
    }

    /** Sends the first bytes of an incomplete character. */
    synchronized void finish() {
      if (rest.length > 0) show("\ufffd");
      rest = new byte[0];
    }

    void show(String text) {
      if (!text.isEmpty()) send("\"" + stream + "\":" + quoted(text));
    }
  }
}

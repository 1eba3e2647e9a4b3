// SPDX-License-Identifier: MIT
/*
 * A service keeps millions of sessions in memory and answers 200 requests a second. Then a monthly
 * report calls System.gc() "to start with a clean heap". The collector stops all threads, follows
 * every reference, and moves what is live; the next request waits until it has finished.
 */
import java.io.IOException;

public class Sessions {
	static final int SESSIONS = 2_000_000;
	static final int NORMAL_MS = 1000;
	static final int LIMIT_MS = 80;

	static class Session {
		Session next;
		long customer;

		Session(Session next, long customer) {
			this.next = next;
			this.customer = customer;
		}
	}

	static Session newest;
	static volatile long checksum;

	static double now() {
		return System.nanoTime() / 1e6;
	}

	static void loadSessions() {
		for (int i = 0; i < SESSIONS; i++)
			newest = new Session(newest, i);
	}

	static void answer() {
		long sum = 0;

		for (Session s = newest; sum < 20_000 * (long) SESSIONS / 2 && s != null; s = s.next)
			sum += s.customer;
		checksum = sum;
	}

	static void serveRequests() {
		double due, took = 0;

		while (took < LIMIT_MS) {
			due = now() + 5;
			sleep(5);
			answer();
			took = now() - due;
		}
		incident(String.format("an answer was ready %.0f ms after it was due, limit %d ms", took,
				       LIMIT_MS));
	}

	static void writeReport() {
		sleep(NORMAL_MS);
		System.gc();
	}

	static void sleep(long ms) {
		try {
			Thread.sleep(ms);
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	/* As incident() of incident.h. */
	static void incident(String reason) {
		String ask = System.getenv("RINGBACK_ASK"), program = System.getenv("RINGBACK");

		System.err.println(reason);
		if (ask != null && !ask.equals("program")) {
			sleep(1500);
			return;
		}
		try {
			new ProcessBuilder(program == null ? "ringback" : program, "trigger", "--reason", reason)
				.inheritIO()
				.start()
				.waitFor();
		} catch (IOException | InterruptedException e) {
			System.err.println(e);
		}
	}

	public static void main(String[] args) throws InterruptedException {
		Thread request, report;

		loadSessions();
		request = new Thread(Sessions::serveRequests, "session-request");
		report = new Thread(Sessions::writeReport, "report");
		request.start();
		report.start();
		request.join();
		report.join();
	}
}

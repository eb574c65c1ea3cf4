import Testing
import TidegateCore

@testable import TidegateTransfer

struct HandshakeFailureTests {
    @Test(
        "The code of OpenSSL's error says what happened, and its words only what has no other name",
        arguments: [
            ("OpenSSL/3.0.19: error:0A00010B:SSL routines::wrong version number", "the port does not speak TLS"),
            ("TLS connect error: error:0A0000C6:SSL routines::packet length too long", "the port does not speak TLS"),
            (
                "OpenSSL/3.0.19: error:0A00042E:SSL routines::tlsv1 alert protocol version",
                "the server refused the handshake: protocol version"
            ),
            (
                "error:0A000458:SSL routines::tlsv1 unrecognized name",
                "the server refused the handshake: unrecognized name"
            ),
            (
                "OpenSSL/3.0.19: error:0A000126:SSL routines::unexpected eof while reading",
                "the server closed the connection during the handshake"
            ),
            (
                "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to localhost:9012 ",
                "the server closed the connection during the handshake"
            ),
            ("Recv failure: Connection reset by peer", "the server closed the connection during the handshake"),
            (
                "OpenSSL/3.0.19: error:0A00018A:SSL routines::dh key too small",
                "this host does not accept what the server offers: dh key too small"
            ),
        ])
    func sentences(_ text: String, _ sentence: String) {
        #expect(HandshakeFailure(curlText: text).description == sentence)
    }

    @Test("Alerts about this host's certificate are told from the others")
    func clientCertificate() {
        let failure = HandshakeFailure(
            curlText: "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0")
        #expect(failure == .refused(TLSAlert(number: 116)) && failure.isAboutClientCertificate)
        #expect(!HandshakeFailure(curlText: "error:0A000410:SSL routines::x").isAboutClientCertificate)
        #expect(HandshakeFailure(curlText: "error:0A0007D0:SSL routines::x") == .notAccepted("x"))
        #expect("\(TLSAlert(number: 255))" == "alert 255")
    }
}

// SPDX-License-Identifier: MIT

// A client of ringback's socket for programs (man ringback-protocol):
//
//	ringback trigger REASON     asks a running recorder for a dump
//	ringback beat NR SECONDS    NR heartbeats, then none for SECONDS
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

type message struct {
	Version, Kind uint32
	Ns            uint64
	Pid, Tid      uint32
	Reserved      uint64
	Text          [224]byte
}

type reply struct {
	Version, Kind uint32
	IntervalNs    uint64
}

func connect() (*net.UnixConn, error) {
	paths := []string{"/run/ringback/default.tell", "/run/ringback.tell/default.tell",
		os.Getenv("XDG_RUNTIME_DIR") + "/ringback/default.tell"}
	if own := os.Getenv("RINGBACK_TELL"); own != "" {
		paths = []string{own}
	}
	for _, path := range paths {
		if c, err := net.Dial("unixpacket", path); err == nil {
			return c.(*net.UnixConn), nil
		}
	}
	return nil, errors.New("no recorder listens")
}

func send(c *net.UnixConn, kind uint32, text string) error {
	// A time in the future counts as now. The kernel tells the recorder the pid.
	m := message{Version: 1, Kind: kind, Ns: ^uint64(0), Pid: uint32(os.Getpid()), Tid: uint32(syscall.Gettid())}
	var b bytes.Buffer
	copy(m.Text[:223], text)
	binary.Write(&b, binary.LittleEndian, &m)
	_, err := c.Write(b.Bytes())
	return err
}

func trigger(reason string) error {
	c, err := connect()
	if err != nil {
		return err
	}
	defer c.Close()
	return send(c, 1, reason)
}

// heartbeat returns the function to call more often than the time of the rule.
func heartbeat() (func() error, error) {
	c, err := connect()
	if err != nil {
		return nil, err
	}
	if err = send(c, 2, ""); err != nil {
		return nil, err
	}
	data, control := make([]byte, 16), make([]byte, syscall.CmsgSpace(4))
	c.SetReadDeadline(time.Now().Add(5 * time.Second))
	n, nr, _, _, err := c.ReadMsgUnix(data, control)
	if err != nil {
		return nil, err
	}
	var r reply
	binary.Read(bytes.NewReader(data[:n]), binary.LittleEndian, &r)
	parts, err := syscall.ParseSocketControlMessage(control[:nr])
	if err != nil || len(parts) != 1 {
		return nil, errors.New("the recorder has no rule for heartbeats")
	}
	fds, err := syscall.ParseUnixRights(&parts[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.New("the recorder sent no timer")
	}
	spec := [4]int64{0, 0, int64(r.IntervalNs / 1e9), int64(r.IntervalNs % 1e9)}
	return func() error {
		_, _, e := syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, uintptr(fds[0]), 0,
			uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
		if e != 0 {
			return e
		}
		return nil
	}, nil
}

func main() {
	if os.Args[1] == "trigger" {
		if err := trigger(os.Args[2]); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		return
	}
	beat, err := heartbeat()
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	nr, _ := strconv.Atoi(os.Args[2])
	for i := 0; i < nr; i++ {
		beat()
		time.Sleep(50 * time.Millisecond)
	}
	seconds, _ := strconv.ParseFloat(os.Args[3], 64)
	time.Sleep(time.Duration(seconds * 1e9))
}

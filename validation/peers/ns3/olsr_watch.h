// What OLSR sends and knows in ns-3: messages by type, and when all routes are there.

#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/olsr-module.h"

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace peers
{

/// Counts the messages of all nodes from a time on, and compares the routing tables with the graph.
class OlsrWatch
{
  public:
    /// Nodes that are nearer to each other than `range` are neighbours.
    OlsrWatch(const ns3::NodeContainer& nodes, double range, double from)
        : m_nodes(nodes),
          m_range(range),
          m_from(from)
    {
        using namespace ns3;
        for (uint32_t i = 0; i < nodes.GetN(); ++i)
        {
            auto protocol = nodes.Get(i)->GetObject<olsr::RoutingProtocol>();
            NS_ABORT_MSG_IF(!protocol, "node without OLSR");
            Ipv4Address main = nodes.Get(i)->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
            m_numbers[main.Get()] = i;
            m_protocols.push_back(protocol);
            protocol->TraceConnectWithoutContext(
                "Tx",
                MakeCallback(&OlsrWatch::OnSent, this).Bind(main.Get()));
        }
        Simulator::Schedule(LOOK, &OlsrWatch::Look, this);
    }

    uint64_t packets{0};      ///< packets of OLSR that were sent
    uint64_t bytes{0};        ///< their bytes, with the headers of IP and UDP
    uint64_t hellos{0};       ///< HELLO messages
    uint64_t tcs{0};          ///< TC messages that their originator sent
    uint64_t forwardedTcs{0}; ///< TC messages that were forwarded
    double convergedS{-1};    ///< first look at which all nodes had all routes of the shortest length
    uint64_t pairs{0};        ///< pairs of nodes that the graph connects, over the looks that count
    uint64_t routes{0};       ///< of these, those with a route
    uint64_t routeHops{0};    ///< hops of these routes
    uint64_t shortestHops{0}; ///< hops of the shortest paths of these pairs

  private:
    inline static const ns3::Time LOOK = ns3::MilliSeconds(100);

    void OnSent(uint32_t main,
                const ns3::olsr::PacketHeader& header,
                const ns3::olsr::MessageList& messages)
    {
        if (ns3::Simulator::Now().GetSeconds() < m_from)
        {
            return;
        }
        ++packets;
        // The headers of IP, UDP and the packet are not in the messages.
        bytes += 20 + 8 + header.GetSerializedSize();
        for (const auto& message : messages)
        {
            bytes += message.GetSerializedSize();
            bool own = message.GetOriginatorAddress().Get() == main;
            switch (message.GetMessageType())
            {
            case ns3::olsr::MessageHeader::HELLO_MESSAGE:
                ++hellos;
                break;
            case ns3::olsr::MessageHeader::TC_MESSAGE:
                ++(own ? tcs : forwardedTcs);
                break;
            default:
                NS_ABORT_MSG("a message of another type");
            }
        }
    }

    /// Hops from one node to all others on shortest paths, 0 if there is none.
    std::vector<uint32_t> Shortest(uint32_t from, const std::vector<ns3::Vector>& places) const
    {
        std::vector<uint32_t> hops(places.size(), 0);
        std::vector<uint32_t> reached{from};
        for (std::size_t next = 0; next < reached.size(); ++next)
        {
            for (uint32_t to = 0; to < places.size(); ++to)
            {
                if (to != from && hops[to] == 0 &&
                    ns3::CalculateDistance(places[reached[next]], places[to]) < m_range)
                {
                    hops[to] = hops[reached[next]] + 1;
                    reached.push_back(to);
                }
            }
        }
        return hops;
    }

    void Look()
    {
        double now = ns3::Simulator::Now().GetSeconds();
        std::vector<ns3::Vector> places;
        for (auto node = m_nodes.Begin(); node != m_nodes.End(); ++node)
        {
            places.push_back((*node)->GetObject<ns3::MobilityModel>()->GetPosition());
        }
        bool all = true;
        for (uint32_t from = 0; from < m_protocols.size(); ++from)
        {
            std::vector<uint32_t> known(places.size(), 0);
            for (const auto& entry : m_protocols[from]->GetRoutingTableEntries())
            {
                known[m_numbers.at(entry.destAddr.Get())] = entry.distance;
            }
            std::vector<uint32_t> shortest = Shortest(from, places);
            for (uint32_t to = 0; to < places.size(); ++to)
            {
                all = all && known[to] == shortest[to];
                if (now > m_from && shortest[to] > 0)
                {
                    ++pairs;
                    if (known[to] > 0)
                    {
                        ++routes;
                        routeHops += known[to];
                        shortestHops += shortest[to];
                    }
                }
            }
        }
        if (all && convergedS < 0)
        {
            convergedS = now;
        }
        ns3::Simulator::Schedule(LOOK, &OlsrWatch::Look, this);
    }

    ns3::NodeContainer m_nodes;
    double m_range;
    double m_from;
    std::map<uint32_t, uint32_t> m_numbers;
    std::vector<ns3::Ptr<ns3::olsr::RoutingProtocol>> m_protocols;
};

} // namespace peers

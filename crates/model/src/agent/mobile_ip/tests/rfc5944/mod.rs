//! Conformance to RFC 5944, section by section.

mod s2_3_2_restarts;
mod s2_agent_discovery;
mod s3_4_codes;
mod s3_6_hosts;
mod s3_7_foreign_agents;
mod s3_8_home_agents;
